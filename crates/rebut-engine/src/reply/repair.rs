//! Mending JSON that a model wrote almost right. Nothing is closed for it: no bracket and no quote
//! is ever added, so what was cut stays cut.

use super::DEPTH;
use std::{fmt::Write as _, iter::Peekable, str::Chars};

/// The object as strict JSON; `None` where it would take more than this: commas before a closing
/// bracket are dropped, single quotes, Python's words and raw line breaks are written as JSON has
/// them, and quotes and backslashes inside of a text are escaped.
pub(super) fn mended(object: &str) -> Option<String> {
    let mut mending = Mending {
        rest: object.chars().peekable(),
        mended: String::with_capacity(object.len() + 16),
        depth: 0,
    };
    mending.value()?;
    mending
        .next_after_space()
        .is_none()
        .then_some(mending.mended)
}

struct Mending<'a> {
    rest: Peekable<Chars<'a>>,
    mended: String,
    /// How many brackets are open. Counted here too: whoever wants to can hide some of them in
    /// quotes.
    depth: usize,
}

impl Mending<'_> {
    /// Copies one whole value, mended; `None` where it is not whole.
    fn value(&mut self) -> Option<()> {
        match self.next_after_space()? {
            '{' => self.members('}', true),
            '[' => self.members(']', false),
            quote @ ('"' | '\'') => self.text(quote, &[',', '}', ']']),
            first => self.word(first),
        }
    }

    /// What stands between two brackets, of which the first was read.
    fn members(&mut self, close: char, named: bool) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        self.mended.push(if named { '{' } else { '[' });
        let mut is_first = true;
        while self.peek_after_space()? != close {
            if !is_first {
                self.mended.push(',');
            }
            is_first = false;
            if named {
                let quote = self
                    .next_after_space()
                    .filter(|quote| matches!(quote, '"' | '\''))?;
                self.text(quote, &[':'])?;
                self.next_after_space().filter(|colon| *colon == ':')?;
                self.mended.push(':');
            }
            self.value()?;
            if self.peek_after_space()? != close {
                self.next_after_space().filter(|comma| *comma == ',')?;
            }
        }
        self.rest.next();
        self.mended.push(close);
        self.depth -= 1;
        Some(())
    }

    /// A text, of which the opening quote was read. It ends at the quote behind which one of `ends`
    /// stands; any other quote belongs to it.
    fn text(&mut self, quote: char, ends: &[char]) -> Option<()> {
        self.mended.push('"');
        loop {
            match self.rest.next()? {
                '\\' => match self.rest.next()? {
                    known @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u') => {
                        self.mended.extend(['\\', known])
                    }
                    '\'' => self.mended.push('\''),
                    other => {
                        self.mended.push_str("\\\\");
                        self.push_in_text(other);
                    }
                },
                c if c == quote && self.is_followed_by(ends) => {
                    self.mended.push('"');
                    return Some(());
                }
                c => self.push_in_text(c),
            }
        }
    }

    fn push_in_text(&mut self, c: char) {
        match c {
            '"' => self.mended.push_str("\\\""),
            '\n' => self.mended.push_str("\\n"),
            '\r' => self.mended.push_str("\\r"),
            '\t' => self.mended.push_str("\\t"),
            // Writing to a String cannot fail.
            c if c < ' ' => drop(write!(self.mended, "\\u{:04x}", u32::from(c))),
            c => self.mended.push(c),
        }
    }

    /// A number or a word; whether it is one that JSON knows is found out when it is read.
    fn word(&mut self, first: char) -> Option<()> {
        let belongs = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let mut word = String::from(Some(first).filter(|c| belongs(*c))?);
        while let Some(c) = self.rest.next_if(|c| belongs(*c)) {
            word.push(c);
        }
        self.mended.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            word => word,
        });
        Some(())
    }

    fn is_followed_by(&self, ends: &[char]) -> bool {
        self.rest
            .clone()
            .find(|c| !c.is_whitespace())
            .is_some_and(|c| ends.contains(&c))
    }

    fn next_after_space(&mut self) -> Option<char> {
        self.rest.by_ref().find(|c| !c.is_whitespace())
    }

    fn peek_after_space(&mut self) -> Option<char> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_almost_json_is_mended_and_what_is_cut_is_not() {
        let rows = [
            (
                r#"{"a": [1, 2,], "b": "x",}"#,
                Some(json!({"a": [1, 2], "b": "x"})),
            ),
            (
                "{'a': 'it's \"so\"', 'b': [True, None]}",
                Some(json!({"a": "it's \"so\"", "b": [true, null]})),
            ),
            (
                "{\"a\": \"one\ntwo\tthree\u{1}\"}",
                Some(json!({"a": "one\ntwo\tthree\u{1}"})),
            ),
            (
                r#"{"a": "he said "no" twice", "b": "\d+ \'"}"#,
                Some(json!({"a": "he said \"no\" twice", "b": "\\d+ '"})),
            ),
            (
                r#"{"a": "A, "b": "c"}"#,
                Some(json!({"a": "A, \"b\": \"c"})),
            ),
            (r#"{}"#, Some(json!({}))),
            (r#"{"a": "x"#, None),
            (r#"{"a": "x""#, None),
            (r#"{"a": ["x"}"#, None),
            (r#"{"a": "x}"#, None),
            (r#"{"a": 1 "b": 2}"#, None),
            (r#"{"a": 1,, "b": 2}"#, None),
            (r#"{"a": }"#, None),
            (r#"{a: 1}"#, None),
            (r#"{"a": 1} x"#, None),
            (
                &format!(
                    "{{\"a\": \"x\"y\", \"b\": {}1{}}}",
                    "[".repeat(90_000),
                    "]".repeat(90_000)
                ),
                None,
            ),
        ];
        for (text, expected) in rows {
            let found = mended(text).and_then(|mended| serde_json::from_str::<Value>(&mended).ok());
            assert_eq!(found, expected, "{text}: {:?}", mended(text));
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_stays_what_it_is_and_no_beginning_of_it_is_mended(fields in prop::collection::btree_map("[a-c]", any_json(), 1..4)) {
            let value = Value::Object(fields.into_iter().collect());
            let text = value.to_string();
            prop_assert_eq!(mended(&text).and_then(|mended| serde_json::from_str::<Value>(&mended).ok()), Some(value));
            for length in (0..text.len()).filter(|length| text.is_char_boundary(*length)) {
                prop_assert_eq!(mended(&text[..length]), None);
            }
        }
    }
}
