//! Small things as people read them.

use rebut_engine::view::View;

/// Money with as many digits as it takes to see something.
pub fn dollars(amount: f64) -> String {
    match amount {
        0.0 => "$0".to_owned(),
        1.0.. => format!("${amount:.2}"),
        0.01.. => format!("${amount:.3}"),
        _ => format!("${amount:.4}"),
    }
}

/// The beginning of a debate's id.
pub fn short(view: &View) -> String {
    view.id.map(|id| id.short()).unwrap_or_default()
}

/// A name that is one harmless part of a path.
pub fn file_safe(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(64)
        .collect();
    let safe = safe.trim_matches('-').to_owned();
    if safe.is_empty() {
        "question".to_owned()
    } else {
        safe
    }
}
