//! Scripts: every word, the order of headings, mistakes with their lines, and any bytes at all.

use crate::asking::Asking;
use proptest::prelude::*;
use rebut_engine::model::{Deltas, FaultKind, Finish, Model, Usage};
use rebut_models::script::{Script, ScriptModel};
use std::time::Duration;

fn model(text: &str) -> ScriptModel {
    ScriptModel::new(
        "test.md",
        Script::parse(text.as_bytes()).expect("a valid script"),
    )
}

const SCRIPT: &str = "# Title\n\
Some words, `code` and ```more``` and an image:\n![x](y)\n\
## recommend/risk\n!error 429 retry_after=2\nnote\n```json\n{\"option\": \"A\"}\n  two\n```\n\
## recommend/*\n~~~\nany recommend\n~~~\n\
## *\n~~~~ text\n~~~\n```\nheld fences\n```\n~~~\n~~~~~\n\
## faults\n!empty\n!refusal\n!error 500\n!error 401\n!error 404\n!error 422\n!error 529 \
retry_after=-1\n```\n \n```\n\
## texts\n!truncated\n```\nabcdéfgh\n```\n!repeat 3\n```\nab\n```\n!bytes \
\\xff\\xfe\\n\\\\x\n!delay 40s\n!garbage\n\
## usage\n```\none two\n```\n!usage input=7 output=8 cached=9 cost=0.5\n```\nx\n```\n```\ny\n```\n\
## never\n!timeout\n";

#[tokio::test(start_paused = true)]
async fn replies_come_as_written() {
    let model = model(SCRIPT);
    let asking = Asking::new();
    let said = [
        (
            "recommend/risk",
            2,
            "{\"option\": \"A\"}\n  two",
            Finish::Complete,
        ),
        (
            "recommend/risk",
            9,
            "{\"option\": \"A\"}\n  two",
            Finish::Complete,
        ),
        ("recommend/value", 1, "any recommend", Finish::Complete),
        (
            "challenge 2/value",
            1,
            "~~~\n```\nheld fences\n```\n~~~",
            Finish::Complete,
        ),
        ("texts", 1, "abcd", Finish::Length),
        ("texts", 2, "ababab", Finish::Complete),
        ("texts", 3, "\u{fffd}\u{fffd}\n\\x", Finish::Complete),
    ];
    for (turn, attempt, text, finish) in said {
        let answer = model.ask(asking.request(turn, attempt)).await.expect(turn);
        assert_eq!(
            (answer.text.as_str(), answer.finish),
            (text, finish),
            "{turn} {attempt}"
        );
    }
    let failed = [
        ("recommend/risk", 1, FaultKind::RateLimited, Some(2000)),
        ("faults", 1, FaultKind::Empty, None),
        ("faults", 2, FaultKind::Refused, None),
        ("faults", 3, FaultKind::Server, None),
        ("faults", 4, FaultKind::Auth, None),
        ("faults", 5, FaultKind::NotFound, None),
        ("faults", 6, FaultKind::BadRequest, None),
        ("faults", 7, FaultKind::RateLimited, Some(0)),
        ("faults", 8, FaultKind::Empty, None),
    ];
    for (turn, attempt, kind, retry_after_ms) in failed {
        let fault = model
            .ask(asking.request(turn, attempt))
            .await
            .expect_err(turn);
        assert_eq!(
            (fault.kind, fault.retry_after_ms),
            (kind, retry_after_ms),
            "{turn} {attempt}"
        );
    }
    let calls: Vec<_> = said
        .map(|row| (row.0.to_owned(), row.1))
        .into_iter()
        .chain(failed.map(|row| (row.0.to_owned(), row.1)))
        .collect();
    assert_eq!(model.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn time_usage_and_pieces() {
    let model = model(SCRIPT);
    let mut asking = Asking::new();
    let usage = async |attempt| {
        model
            .ask(asking.request("usage", attempt))
            .await
            .expect("an answer")
            .usage
    };
    assert_eq!(
        usage(1).await,
        Some(Usage {
            input: 3 + 6,
            output: 2,
            ..Usage::default()
        })
    );
    let given = Usage {
        input: 7,
        output: 8,
        cached: 9,
        reasoning: 0,
        cost_usd: Some(0.5),
    };
    assert_eq!((usage(2).await, usage(3).await), (Some(given), Some(given)));

    // The paused clock advances only by what is slept for.
    let before = tokio::time::Instant::now();
    let first = model
        .ask(asking.request("texts", 4))
        .await
        .expect("garbage");
    assert_eq!(before.elapsed(), Duration::from_secs(40));
    assert_eq!(
        first,
        model
            .ask(asking.request("texts", 4))
            .await
            .expect("garbage")
    );
    assert_ne!(
        first.text,
        model
            .ask(asking.request("texts", 5))
            .await
            .expect("garbage")
            .text
    );
    assert!(
        tokio::time::timeout(
            Duration::from_secs(3600),
            model.ask(asking.request("never", 1))
        )
        .await
        .is_err()
    );

    asking.deltas = Deltas::with_capacity(16);
    let mut pieces = asking.deltas.listen().expect("a channel").pieces;
    let answer = model
        .ask(asking.request("challenge 1/é", 1))
        .await
        .expect("an answer");
    let mut text = String::new();
    while let Ok(delta) = pieces.try_recv() {
        assert_eq!(delta.turn, "challenge 1/é");
        assert_ne!(delta.text, answer.text);
        text += &delta.text;
    }
    assert_eq!(text, answer.text);
}

#[tokio::test]
async fn the_most_specific_heading_serves_and_a_missing_one_is_named() {
    let model = model(
        "## a*\n```\nshort\n```\n## a/b*\n```\nlonger\n```\n## a/?*\n```\nlater\n```\n## \
         a/b?\n```\nlast\n```\n## a/bc\n```\nexact\n```\n",
    );
    let asking = Asking::new();
    for (turn, text) in [
        ("a/bc", "exact"),
        ("a/bd", "longer"),
        ("a/x", "later"),
        ("ax", "short"),
    ] {
        assert_eq!(
            model.ask(asking.request(turn, 1)).await.expect(turn).text,
            text,
            "{turn}"
        );
    }
    let fault = model
        .ask(asking.request("b/bc", 1))
        .await
        .expect_err("no heading");
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert_eq!(
        fault.message,
        "test.md has no reply for the turn `b/bc`; the closest heading is `## a/bc`"
    );
}

#[test]
fn mistakes_are_named_with_their_line() {
    let rows = [
        ("", "no heading"),
        ("just words\n### small\n", "no heading"),
        ("intro\n```\nx\n```\n", "line 2: a reply before any heading"),
        ("!empty\n", "line 1: a reply before any heading"),
        ("##  \n", "line 1: a heading without"),
        (
            "## a\n!empty\n## a\n!empty\n",
            "line 3: the heading `## a` is already on line 1",
        ),
        (
            "## a\ntext\n## b\n!empty\n",
            "line 1: no reply below `## a`",
        ),
        (
            "## a\n!timout\n",
            "line 2: unknown `!timout`; did you mean `!timeout`?",
        ),
        (
            "## a\n\n```json\nx\n``\n",
            "line 3: this code block is never closed; end it with a line of ```",
        ),
        (
            "## a\n!error 200\n",
            "line 2: `!error 200` does not fit; write it like `!error 429 retry_after=2`",
        ),
        (
            "## a\n!error 429 retry=1\n",
            "line 2: `!error 429 retry=1` does not fit",
        ),
        ("## a\n!empty now\n", "line 2: `!empty now` does not fit"),
        (
            "## a\n!delay 5\n",
            "line 2: `!delay 5` does not fit; write it like `!delay 200ms`",
        ),
        (
            "## a\n!usage tokens=3\n",
            "line 2: `!usage tokens=3` does not fit",
        ),
        ("## a\n!repeat 0\n", "line 2: `!repeat 0` does not fit"),
        ("## a\n!bytes \\xf\n", "line 2: `!bytes \\xf` does not fit"),
        ("## a\n!truncated\n!timeout\n", "line 2: nothing follows"),
        (
            "## a\n!empty\n!delay 1s\n## b\n!empty\n",
            "line 3: nothing follows",
        ),
        (
            "## a\n!repeat 99999999999\n```\nabc\n```\n",
            "line 3: the repeated reply is larger",
        ),
    ];
    for (script, expected) in rows {
        let error = Script::parse(script.as_bytes())
            .expect_err(script)
            .to_string();
        assert!(
            error
                .replace("`", "")
                .starts_with(&expected.replace("`", "")),
            "{script:?}: {error}"
        );
    }
    assert!(
        Script::parse(b"\xef\xbb\xbf## a\r\n```\r\nx\r\n```\r\n").is_ok(),
        "a file from another system"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_script_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Script::parse(&bytes);
    }

    #[test]
    fn any_lines_are_a_script_or_an_error(lines in proptest::collection::vec(line(), 0..24)) {
        let text = lines.join("\n");
        if let Ok(script) = Script::parse(text.as_bytes()) {
            prop_assert!(text.contains("##"));
            // A line that ends with a carriage return of its own is another line when it gets a
            // second one.
            prop_assume!(!text.contains('\r'));
            prop_assert_eq!(Script::parse(text.replace('\n', "\r\n").as_bytes()), Ok(script));
        }
    }

    #[test]
    fn a_block_is_taken_as_it_is(body in "([^\r]|`{1,5}|\n)*") {
        let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(3.max(longest + 1));
        let script = format!("## *\n{fence}\n{body}\n{fence}");
        let answer = tokio::runtime::Builder::new_current_thread().build().expect("a \
            runtime").block_on(async {
            Asking::new().ask(&model(&script)).await
        });
        match answer {
            Ok(answer) => prop_assert_eq!(answer.text, body),
            Err(fault) => prop_assert!(fault.kind == FaultKind::Empty && body.trim().is_empty()),
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("## turn".to_owned()),
        "## [a-c*?]{0,3}",
        "[`~]{2,5}[a-z]{0,2}",
        "!(timeout|error|garbage|empty|refusal|changed|bytes|truncated|repeat|delay|usage)( \
         .{0,12})?",
        "!error [0-9]{3}( retry_after=[-0-9.e]{1,6})?",
        ".{0,12}",
    ]
}
