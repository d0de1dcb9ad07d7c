//! What every keeper of sessions must do: keep them as they are, forget those who left or whose time
//! is over, and never hold too many.

use rebut_engine::web_session::{WebSession, WebSessions};

#[derive(Debug)]
enum Step {
    /// Opens one at a time. The one of its key that ends first makes room for it, and whatever is
    /// over then goes, whoever's it was.
    Open(WebSession, i64),
    /// Closes one, if it is there.
    Close(&'static str),
}

pub async fn hold(web_sessions: &dyn WebSessions) {
    let web_session = |id: &str, key: &str, expires_at: i64| WebSession {
        id: id.into(),
        sha256: format!("of {id}"),
        key: key.into(),
        expires_at,
    };
    let opened = [
        web_session("a1", "a", 100),
        web_session("a2", "a", 130),
        web_session("a3", "a", 120),
        web_session("b1", "b", 100),
    ];
    for one in &opened {
        web_sessions
            .open_web_session(one, 50, 3)
            .await
            .expect("room");
    }
    for one in &opened {
        assert_eq!(
            web_sessions
                .web_session(&one.id)
                .await
                .expect("an answer")
                .as_ref(),
            Some(one),
            "as it was"
        );
    }
    for unknown in ["", "A1", "a", "%", "a1 ", "of a1"] {
        assert_eq!(
            web_sessions.web_session(unknown).await,
            Ok(None),
            "{unknown:?}"
        );
    }
    let rows: [(Step, &[&str]); 6] = [
        (
            Step::Open(web_session("a4", "a", 110), 60),
            &["a2", "a3", "a4", "b1"],
        ),
        (
            Step::Open(web_session("a5", "a", 140), 60),
            &["a2", "a3", "a5", "b1"],
        ),
        (Step::Close("a3"), &["a2", "a5", "b1"]),
        (Step::Close("nobody"), &["a2", "a5", "b1"]),
        (
            Step::Open(web_session("c1", "c", 900), 100),
            &["a2", "a5", "c1"],
        ),
        (Step::Close("c1"), &["a2", "a5"]),
    ];
    for (step, left) in rows {
        match &step {
            Step::Open(one, now) => web_sessions
                .open_web_session(one, *now, 3)
                .await
                .expect("room"),
            Step::Close(id) => web_sessions
                .close_web_session(id)
                .await
                .expect("also when there is none"),
        }
        let mut found = Vec::new();
        for id in ["a1", "a2", "a3", "a4", "a5", "b1", "c1"] {
            found.extend(
                web_sessions
                    .web_session(id)
                    .await
                    .expect("an answer")
                    .map(|_| id),
            );
        }
        assert_eq!(found, left, "{step:?}");
    }
}
