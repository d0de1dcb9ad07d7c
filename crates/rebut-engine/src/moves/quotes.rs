//! Whether a text that is given as a quotation really stands in its source: literally, but for
//! white space. Pure.

/// What quotations are looked up in.
#[derive(Clone, Debug, Default)]
pub struct Source {
    text: String,
}

impl Source {
    pub fn new(text: &str) -> Self {
        Self {
            text: in_one_line(text),
        }
    }

    /// Whether the words stand there, in that order and spelling. Marks around a quotation are not
    /// part of it; nothing is no quotation.
    pub fn holds(&self, quote: &str) -> bool {
        let bare = bare(quote);
        !bare.is_empty() && self.text.contains(&bare)
    }
}

/// A quotation without the marks around it, on one line: two that differ only in these are the
/// same.
pub fn bare(quote: &str) -> String {
    in_one_line(quote)
        .trim_matches(['"', '“', '”', '„', '«', '»', '…', '`', ' '])
        .to_owned()
}

/// Every run of white space as one space.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_stands_in_its_source_or_does_not() {
        let source =
            Source::new("Nurses lose 40 minutes\n  a shift. \"Paper\" is slow — they say.");
        let rows = [
            ("Nurses lose 40 minutes a shift", true),
            ("“lose 40\tminutes”", true),
            ("…a shift. \"Paper\" is slow…", true),
            ("`lose 40 minutes`", true),
            ("nurses lose 40 minutes", false),
            ("Nurses lose 45 minutes", false),
            ("lose minutes", false),
            ("", false),
            ("“”", false),
        ];
        for (quote, expected) in rows {
            assert_eq!(source.holds(quote), expected, "{quote}");
        }
        assert!(!Source::default().holds("anything"));
    }
}
