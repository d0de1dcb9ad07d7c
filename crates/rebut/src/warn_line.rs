//! Lines on standard error. The reader may be gone (`2>&1 | head`), which must not end a debate:
//! the standard library's macros would panic. These let nothing pass that a terminal would obey
//! but colours.

/// Prints a line on standard error; a reader that went away is no error.
macro_rules! warn_line {
    ($($words:tt)*) => {{
        // Nobody is left to be told.
        let line = format!($($words)*);
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", rebut_engine::clean::for_terminal(&line)));
    }};
}

/// The same without the line's end.
macro_rules! warn_text {
    ($($words:tt)*) => {{
        let line = format!($($words)*);
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}", rebut_engine::clean::for_terminal(&line)));
    }};
}
