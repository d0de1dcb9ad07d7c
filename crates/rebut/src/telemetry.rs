//! Debates as OpenTelemetry spans, sent to where the standard variables say. Nothing is sent
//! without them, and a collector that is away costs a debate nothing but a line of warning.

use crate::app::environment;
use percent_encoding::percent_decode_str;
use rebut_engine::{record::Record, report};
use std::time::Duration;

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

pub struct Telemetry {
    client: reqwest::Client,
    target: Target,
}

#[derive(Debug, PartialEq)]
struct Target {
    url: String,
    headers: Vec<(String, String)>,
    resource: Vec<(String, String)>,
    timeout: Duration,
}

impl Telemetry {
    /// What this process's environment asks for, if anything.
    pub fn from_environment() -> Result<Option<Self>, String> {
        let Some(target) = Target::read(&environment)? else {
            return Ok(None);
        };
        let client = rebut_models::http::client(target.timeout).map_err(|fault| fault.message)?;
        Ok(Some(Self { client, target }))
    }

    /// Sends a debate. The ids of its spans come from the journal, so that one sent twice is there
    /// once.
    pub async fn send(&self, records: &[Record]) -> Result<(), String> {
        let Target {
            url,
            headers,
            resource,
            timeout,
        } = &self.target;
        let request = self
            .client
            .post(url)
            .timeout(*timeout)
            .json(&report::spans(records, resource));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        let answer = request
            .send()
            .await
            .map_err(|error| format!("spans were not sent: {}", error.without_url()))?;
        let status = answer.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(format!(
                "spans were not taken: the collector answered {status}"
            ))
        }
    }
}

/// Sends a debate that ended in this process. What goes wrong is said and changes nothing.
pub async fn report(records: &[Record]) {
    let sent = match Telemetry::from_environment() {
        Ok(Some(telemetry)) => telemetry.send(records).await,
        Ok(None) => Ok(()),
        Err(problem) => Err(problem),
    };
    if let Err(problem) = sent {
        eprintln!("warning: {problem}");
    }
}

impl Target {
    fn read(variable: Variables<'_>) -> Result<Option<Self>, String> {
        let is = |name: &str, value: &str| {
            variable(name).is_some_and(|set| set.trim().eq_ignore_ascii_case(value))
        };
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")
            .map(|base| format!("{}/v1/traces", base.trim().trim_end_matches('/')));
        let Some(url) = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or(base) else {
            return Ok(None);
        };
        let of_traces = |name: &str| {
            variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if of_traces("PROTOCOL").is_some_and(|protocol| protocol.trim() == "grpc") {
            return Err(
                "spans are sent over HTTP, not gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and \
                 the collector's HTTP port".to_owned()
            );
        }
        let timeout = match of_traces("TIMEOUT") {
            Some(text) => text.trim().parse().map_err(|_| {
                format!("OTEL_EXPORTER_OTLP_TIMEOUT is `{text}`, not a number of milliseconds")
            })?,
            None => 10_000,
        };
        let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let named = variable("OTEL_SERVICE_NAME").or_else(|| {
            resource
                .iter()
                .find(|(key, _)| key == "service.name")
                .map(|(_, name)| name.clone())
        });
        resource.retain(|(key, _)| key != "service.name");
        resource.push((
            "service.name".to_owned(),
            named.unwrap_or_else(|| "rebut".to_owned()),
        ));
        Ok(Some(Self {
            url,
            headers: pairs(&of_traces("HEADERS").unwrap_or_default()),
            resource,
            timeout: Duration::from_millis(timeout),
        }))
    }
}

/// `key=value` pairs between commas, values percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        pair.split_once('=').map(|(key, value)| {
            (
                key.trim().to_owned(),
                percent_decode_str(value.trim())
                    .decode_utf8_lossy()
                    .into_owned(),
            )
        })
    };
    text.split(',')
        .filter_map(pair)
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Option<Target>, String> {
        Target::read(&|name| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_standard_variables_say_where_spans_go() {
        assert_eq!(read(&[]), Ok(None), "nothing is sent unasked");
        assert_eq!(
            read(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
                ("OTEL_SDK_DISABLED", "True")
            ]),
            Ok(None)
        );
        assert_eq!(
            read(&[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
                ("OTEL_TRACES_EXPORTER", "none")
            ]),
            Ok(None)
        );
        let all = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a,x=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,env=test"),
            ("OTEL_SERVICE_NAME", "debates"),
        ];
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let expected = Target {
            url: "http://c:4318/v1/traces".to_owned(),
            headers: vec![pair("authorization", "Bearer a"), pair("x", "1")],
            resource: vec![pair("env", "test"), pair("service.name", "debates")],
            timeout: Duration::from_millis(500),
        };
        assert_eq!(read(&all), Ok(Some(expected)));
        let own = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/t"),
        ]);
        assert_eq!(
            own.map(|target| target.map(|target| target.url)),
            Ok(Some("http://d/t".to_owned()))
        );
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ] {
            assert!(
                read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), (name, value)]).is_err(),
                "{name}"
            );
        }
    }
}
