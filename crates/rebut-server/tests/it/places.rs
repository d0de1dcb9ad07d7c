//! From where a request may come: names of this server, pages of this server, bodies that no form
//! can send.

use crate::{
    house::House,
    wire::{request, send},
};
use rebut_server::{Host, Settings};
use serde_json::Value;
use std::collections::BTreeSet;

fn names(names: &[&str]) -> BTreeSet<Host> {
    names
        .iter()
        .map(|name| name.parse().expect("a name"))
        .collect()
}

/// A name that is not this server's is refused whatever key comes with it: a page behind it would
/// speak for its session.
#[tokio::test]
async fn only_names_of_this_server_are_answered() {
    let settings = Settings {
        hosts: names(&[
            "rebut.example:443",
            "Plain.Example.:80",
            "both.example",
            "odd.example:8443",
        ]),
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let port = house.at.port();
    let other = port ^ 1;
    let rows: &[(&[&str], u16)] = &[
        (&["127.0.0.1:{port}"], 200),
        (&["localhost:{port}"], 200),
        (&["[::1]:{port}"], 200),
        (&["rebut.example:443"], 200),
        (&["rebut.example"], 200),
        (&["REBUT.Example."], 200),
        (&["rebut.example:80"], 421),
        (&["rebut.example:{port}"], 421),
        (&["rebut.example.."], 421),
        (&["plain.example"], 200),
        (&["plain.example:443"], 421),
        (&["both.example"], 200),
        (&["both.example:80"], 200),
        (&["both.example:443"], 200),
        (&["both.example:8080"], 421),
        (&["odd.example:8443"], 200),
        (&["odd.example"], 421),
        (&["odd.example:+8443"], 421),
        (&["odd.example:"], 421),
        (&["127.0.0.1"], 421),
        (&["127.0.0.1:{other}"], 421),
        (&["127.0.0.1.:{port}"], 421),
        (&["localhost.:{port}"], 200),
        (&["LOCALHOST:{port}"], 200),
        (&["evil.example:{port}"], 421),
        (&["localhost:{port}.evil.example"], 421),
        (&["user@localhost:{port}"], 421),
        (&["0.0.0.0:{port}"], 421),
        (&["[::ffff:127.0.0.1]:{port}"], 421),
        (&["2130706433:{port}"], 421),
        (&[""], 421),
        (&[], 400),
        (&["localhost:{port}", "localhost:{port}"], 400),
        (&["localhost:{port}", "evil.example:{port}"], 400),
    ];
    for (hosts, expected) in rows {
        let hosts: Vec<String> = hosts
            .iter()
            .map(|host| {
                host.replace("{port}", &port.to_string())
                    .replace("{other}", &other.to_string())
            })
            .collect();
        for path in ["/v1/debates", "/healthz", "/nothing"] {
            let mut headers: Vec<(&str, &str)> =
                hosts.iter().map(|host| ("Host", host.as_str())).collect();
            headers.push(("Authorization", "Bearer alice-admin"));
            let answer = send(house.at, &request("GET", path, &headers, "")).await;
            let expected = if *expected == 200 && path == "/nothing" {
                404
            } else {
                *expected
            };
            assert_eq!(answer.status, expected, "{hosts:?} {path}: {}", answer.body);
        }
    }
    let elsewhere = format!(
        "GET http://evil.example/v1/debates HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer \
         alice-admin\r\nConnection: close\r\n\r\n",
        house.host()
    );
    assert_eq!(
        send(house.at, elsewhere.as_bytes()).await.status,
        421,
        "an address of another server"
    );
}

#[test]
fn what_is_no_name_is_not_taken_for_one() {
    for bad in [
        "",
        "bad host",
        "a..b",
        ".",
        "a:b",
        "a:",
        "a:70000",
        "http://a",
        "a/b",
        "a@b",
        "[::1",
        "[x]:1",
        "*",
        "ü.example",
        "a:1:2",
    ] {
        assert!(bad.parse::<Host>().is_err(), "{bad}");
    }
}

/// A browser leaves the port out where it is the usual one of the scheme, and only there.
#[tokio::test]
async fn pages_under_the_names_of_this_server_are_its_own() {
    let settings = Settings {
        hosts: names(&["safe.example:443", "plain.example:80", "odd.example:8443"]),
        ..Settings::default()
    };
    let house = House::with("unanimous", settings).await;
    let rows = [
        ("https://safe.example", 202),
        ("https://SAFE.example", 202),
        ("https://safe.example:443", 202),
        ("http://safe.example", 403),
        ("https://safe.example:8443", 403),
        ("https://safe.example/", 403),
        ("https://user@safe.example", 403),
        ("ftp://safe.example", 403),
        ("http://plain.example", 202),
        ("https://plain.example", 403),
        ("https://odd.example:8443", 202),
        ("https://odd.example", 403),
        ("safe.example", 403),
        ("null", 403),
    ];
    for (origin, expected) in rows {
        let body = serde_json::json!({ "format": "decide" });
        let answer = house
            .ask_with(
                "alice-admin",
                "POST",
                "/v1/debates",
                &body,
                &[("Origin", origin)],
            )
            .await;
        assert_eq!(answer.status, expected, "{origin}: {}", answer.body);
    }
}

/// What changes something is not done for a foreign page; whether there is a page is told by the
/// browser.
#[tokio::test]
async fn a_foreign_page_changes_nothing() {
    let house = House::open().await;
    let id = house.begin_gated().await;
    let approve = format!("/v1/debates/{id}/approve");
    let host = house.host();
    let own = format!("http://{host}");
    let cookie = house.web_session("alice-approver").await;
    let rows: &[(&[(&str, &str)], u16)] = &[
        (&[("Origin", "http://evil.example")], 403),
        (&[("Origin", "null")], 403),
        (&[("Origin", "http://localhost:1")], 403),
        (&[("Origin", &host)], 403),
        (&[("Origin", &own), ("Origin", "http://evil.example")], 403),
        (&[("Sec-Fetch-Site", "cross-site")], 403),
        (&[("Sec-Fetch-Site", "same-site")], 403),
        (&[("Origin", &own), ("Sec-Fetch-Site", "cross-site")], 403),
        (&[("Content-Type", "text/plain")], 415),
        (
            &[("Content-Type", "application/x-www-form-urlencoded")],
            415,
        ),
        (&[("Content-Type", "multipart/form-data; boundary=x")], 415),
        (&[("Content-Type", "application/jsonx")], 415),
        (&[], 415),
        (
            &[
                ("Content-Type", "application/json"),
                ("Content-Encoding", "gzip"),
            ],
            415,
        ),
        (
            &[
                ("Content-Type", "application/json"),
                ("Content-Type", "text/plain"),
            ],
            415,
        ),
    ];
    for (headers, expected) in rows {
        let all: Vec<(&str, &str)> = [("Host", host.as_str()), ("Cookie", cookie.as_str())]
            .into_iter()
            .chain(headers.iter().copied())
            .collect();
        let answer = send(house.at, &request("POST", &approve, &all, "{}")).await;
        assert_eq!(answer.status, *expected, "{headers:?}: {}", answer.body);
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    let gates = house
        .get("alice-viewer", &format!("/v1/debates/{id}/gates"))
        .await
        .json();
    assert_eq!(gates["gates"][0]["decision"], Value::Null, "nobody decided");
    let socket = [
        ("Upgrade", "websocket"),
        ("Connection", "upgrade"),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(
        house
            .ask_with(
                &cookie,
                "GET",
                &format!("/v1/debates/{id}/ws"),
                &Value::Null,
                &socket
            )
            .await
            .status,
        403
    );
    let page = [("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(
        house
            .ask_with(&cookie, "POST", &approve, &serde_json::json!({}), &page)
            .await
            .status,
        200,
        "its own page may"
    );
}

#[tokio::test]
async fn every_answer_guards_itself() {
    let house = House::open().await;
    let id = house.run().await;
    let report = format!("/v1/debates/{id}/report.html");
    for (method, path, status) in [
        ("GET", "/v1/debates", 200),
        ("GET", "/nothing", 404),
        ("TRACE", "/v1/debates", 405),
        ("PUT", "/v1/debates", 405),
        ("GET", "/healthz", 200),
        ("GET", report.as_str(), 200),
    ] {
        let answer = house.ask("alice-viewer", method, path, &Value::Null).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(
            (
                answer.header("access-control-allow-origin"),
                answer.header("server")
            ),
            ("", ""),
            "{path}"
        );
    }
}
