//! The request's body, written by hand into one buffer: prompts are large and schemas are text already.

use super::{MaxTokensField, OpenAiModel, Structured};
use rebut_engine::model::Request;

/// The body up to the messages.
pub(super) fn start(model: &str) -> Vec<u8> {
    let mut body = br#"{"model":"#.to_vec();
    push_string(&mut body, model);
    body.extend_from_slice(br#","messages":["#);
    body
}

impl OpenAiModel {
    /// The whole body of a request.
    pub(super) fn body(&self, request: &Request<'_>) -> Vec<u8> {
        let prompt = request.prompt;
        // A little more than the texts, for what must be escaped.
        let size = prompt.system.len() + prompt.user.len() + request.schema.json.len();
        let mut body = Vec::with_capacity(self.body_start.len() + size + size / 16 + 256);
        body.extend_from_slice(&self.body_start);
        if !prompt.system.is_empty() {
            push_message(&mut body, "system", &prompt.system);
            body.push(b',');
        }
        push_message(&mut body, "user", &prompt.user);
        body.push(b']');
        self.push_format(&mut body, request);
        if let Some(temperature) = request.agent.temperature.filter(|temperature| temperature.is_finite()) {
            body.extend_from_slice(br#","temperature":"#);
            body.extend_from_slice(temperature.to_string().as_bytes());
        }
        if let Some(most) = request.agent.max_tokens {
            body.extend_from_slice(match self.endpoint.max_tokens_field {
                MaxTokensField::MaxTokens => br#","max_tokens":"#,
                MaxTokensField::MaxCompletionTokens => br#","max_completion_tokens":"#,
            });
            body.extend_from_slice(most.to_string().as_bytes());
        }
        if request.deltas.wanted() {
            body.extend_from_slice(br#","stream":true,"stream_options":{"include_usage":true}"#);
        }
        body.push(b'}');
        body
    }

    fn push_format(&self, body: &mut Vec<u8>, request: &Request<'_>) {
        match self.endpoint.structured {
            Structured::None => {}
            Structured::Object => body.extend_from_slice(br#","response_format":{"type":"json_object"}"#),
            Structured::Schema => {
                body.extend_from_slice(br#","response_format":{"type":"json_schema","json_schema":{"name":"#);
                push_string(body, request.schema.name);
                body.extend_from_slice(br#","strict":true,"schema":"#);
                body.extend_from_slice(request.schema.json.as_bytes());
                body.extend_from_slice(b"}}");
            }
        }
    }
}

fn push_message(body: &mut Vec<u8>, role: &str, content: &str) {
    body.extend_from_slice(br#"{"role":""#);
    body.extend_from_slice(role.as_bytes());
    body.extend_from_slice(br#"","content":"#);
    push_string(body, content);
    body.push(b'}');
}

fn push_string(body: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(body, text).expect("a string can always be written to memory");
}
