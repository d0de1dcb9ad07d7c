//! Numbers as people read them.

/// One decimal, or two where it has them.
pub fn shown(value: f64) -> String {
    let hundredths = (value * 100.0).round() as i64;
    if hundredths % 10 == 0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

pub fn signed(value: f64) -> String {
    match value {
        0.0 => "0.0".to_owned(),
        value if value < 0.0 => format!("−{}", shown(-value)),
        value => format!("+{}", shown(value)),
    }
}
