//! Markdown to HTML for texts that hold what models said: HTML in it is shown, not obeyed; pictures
//! are named, not fetched; only links to the web and within the page are links.

use super::markup::Markup;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// Writes Markdown as HTML, with headings below a section's own.
pub fn write(page: &mut Markup, markdown: &str) {
    let mut prose = Prose {
        page,
        open: Vec::new(),
        alignments: Vec::new(),
        column: 0,
        in_head: false,
    };
    for event in Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    ) {
        prose.take(event);
    }
}

struct Prose<'a> {
    page: &'a mut Markup,
    /// What must be closed when something ends whose element was chosen at its beginning; an empty
    /// name closes nothing.
    open: Vec<&'static str>,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl Prose<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.page.text(&text)
            }
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.page.within("code", &[], |page| page.text(&code));
            }
            Event::SoftBreak => self.page.text("\n"),
            Event::HardBreak => self.page.empty("br", &[]),
            Event::Rule => self.page.empty("hr", &[]),
            Event::TaskListMarker(done) => self.page.text(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.page.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.enter(heading(level)),
            Tag::CodeBlock(kind) => {
                self.page.open("pre", &[]);
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => format!("code, {language}"),
                    CodeBlockKind::Indented => "code".to_owned(),
                };
                self.page.open("code", &[("aria-label", &language)]);
            }
            Tag::List(Some(first)) => self.enter_with("ol", &[("start", &first.to_string())]),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.page.open(
                    "div",
                    &[
                        ("class", "scroll"),
                        ("tabindex", "0"),
                        ("role", "region"),
                        ("aria-label", "table"),
                    ],
                );
                self.page.open("table", &[]);
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.page.open("thead", &[]);
                self.page.open("tr", &[]);
            }
            Tag::TableRow => {
                self.column = 0;
                self.page.open("tr", &[]);
            }
            Tag::TableCell => self.cell(),
            Tag::Link { dest_url, .. } => match is_safe(&dest_url) {
                true => {
                    self.enter_with("a", &[("href", &dest_url), ("rel", "noreferrer noopener")])
                }
                false => self.open.push(""),
            },
            Tag::Image { .. } => {
                self.page.text("[picture: ");
                self.open.push("");
            }
            tag => self.enter(plain(&tag)),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                self.page.close("code");
                self.page.close("pre");
            }
            TagEnd::Table => {
                self.page.close("tbody");
                self.page.close("table");
                self.page.close("div");
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.page.close("tr");
                self.page.close("thead");
                self.page.open("tbody", &[]);
            }
            TagEnd::TableRow => self.page.close("tr"),
            TagEnd::Image => {
                self.open.pop();
                self.page.text("]");
            }
            _ => match self.open.pop() {
                Some("") | None => {}
                Some(name) => self.page.close(name),
            },
        }
    }

    fn enter(&mut self, name: &'static str) {
        self.enter_with(name, &[]);
    }

    fn enter_with(&mut self, name: &'static str, attributes: &[(&'static str, &str)]) {
        if !name.is_empty() {
            self.page.open(name, attributes);
        }
        self.open.push(name);
    }

    fn cell(&mut self) {
        let is_number = self.alignments.get(self.column) == Some(&Alignment::Right);
        let class = if is_number { "number" } else { "" };
        self.column += 1;
        match self.in_head {
            true => self.enter_with("th", &[("scope", "col"), ("class", class)]),
            false => self.enter_with("td", &[("class", class)]),
        }
    }
}

/// The element of what has no attributes; what is written as plain text has none.
fn plain(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph => "p",
        Tag::BlockQuote(_) => "blockquote",
        Tag::List(_) => "ul",
        Tag::Item => "li",
        Tag::Emphasis => "em",
        Tag::Strong => "strong",
        Tag::Strikethrough => "s",
        Tag::HtmlBlock => "p",
        _ => "",
    }
}

/// Sections of the page have headings of the second level.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => "h3",
        HeadingLevel::H3 => "h4",
        HeadingLevel::H4 => "h5",
        _ => "h6",
    }
}

/// Whether a link may be one. Everything else (scripts, data, files, mail) stays text.
fn is_safe(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let plain = url.chars().all(|c| !c.is_control() && !c.is_whitespace());
    plain && (lower.starts_with("https://") || lower.starts_with("http://") || url.starts_with('#'))
}
