//! What every keeper of visits must do: keep them as they are, forget those who left or whose time
//! is over, and never hold too many.

use rebut_engine::visits::{Visit, Visits};

#[derive(Debug)]
enum Step {
    /// Opens one at a time. The one of its key that ends first makes room for it, and whatever is
    /// over then goes, whoever's it was.
    Open(Visit, i64),
    /// Closes one, if it is there.
    Close(&'static str),
}

/// Panics if it does not.
pub async fn hold(visits: &dyn Visits) {
    let visit = |id: &str, key: &str, expires_at: i64| Visit {
        id: id.into(),
        sha256: format!("of {id}"),
        key: key.into(),
        expires_at,
    };
    let opened = [
        visit("a1", "a", 100),
        visit("a2", "a", 130),
        visit("a3", "a", 120),
        visit("b1", "b", 100),
    ];
    for one in &opened {
        visits.open_visit(one, 50, 3).await.expect("room");
    }
    for one in &opened {
        assert_eq!(
            visits.visit(&one.id).await.expect("an answer").as_ref(),
            Some(one),
            "as it was"
        );
    }
    for unknown in ["", "A1", "a", "%", "a1 ", "of a1"] {
        assert_eq!(visits.visit(unknown).await, Ok(None), "{unknown:?}");
    }
    let rows: [(Step, &[&str]); 6] = [
        (
            Step::Open(visit("a4", "a", 110), 60),
            &["a2", "a3", "a4", "b1"],
        ),
        (
            Step::Open(visit("a5", "a", 140), 60),
            &["a2", "a3", "a5", "b1"],
        ),
        (Step::Close("a3"), &["a2", "a5", "b1"]),
        (Step::Close("nobody"), &["a2", "a5", "b1"]),
        (Step::Open(visit("c1", "c", 900), 100), &["a2", "a5", "c1"]),
        (Step::Close("c1"), &["a2", "a5"]),
    ];
    for (step, left) in rows {
        match &step {
            Step::Open(one, now) => visits.open_visit(one, *now, 3).await.expect("room"),
            Step::Close(id) => visits
                .close_visit(id)
                .await
                .expect("also when there is none"),
        }
        let mut found = Vec::new();
        for id in ["a1", "a2", "a3", "a4", "a5", "b1", "c1"] {
            found.extend(visits.visit(id).await.expect("an answer").map(|_| id));
        }
        assert_eq!(found, left, "{step:?}");
    }
}
