//! Saying something on standard error. Who reads it may be gone (`2>&1 | head`), and that must not
//! end a debate: the standard library's macros of these names would panic. These take their place
//! in the whole program, and let nothing pass that a terminal would obey but colours.

/// Prints a line on standard error; a reader that went away is no error.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        // Nobody is left to be told.
        let line = format!($($words)*);
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", rebut_engine::clean::for_terminal(&line)));
    }};
}

/// The same without the line's end.
macro_rules! eprint {
    ($($words:tt)*) => {{
        let line = format!($($words)*);
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}", rebut_engine::clean::for_terminal(&line)));
    }};
}
