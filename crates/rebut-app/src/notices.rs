//! What people should know besides results and errors, as lines for whoever shows them. This crate
//! prints nothing itself.

use std::{fmt::Display, sync::OnceLock};

pub type Listener = fn(&str);

/// There is one terminal, or one log, in a process.
static LISTENER: OnceLock<Listener> = OnceLock::new();

/// From now on every notice is handed to this listener. The first one counts.
pub fn listen(listener: Listener) {
    LISTENER.get_or_init(|| listener);
}

/// Hands a line to the listener; without one it is dropped.
pub fn tell(line: impl Display) {
    if let Some(listener) = LISTENER.get() {
        listener(&line.to_string());
    }
}

/// Tells people something: like `format!`, for one line or several.
macro_rules! notice {
    ($($words:tt)*) => {
        crate::notices::tell(format_args!($($words)*))
    };
}
