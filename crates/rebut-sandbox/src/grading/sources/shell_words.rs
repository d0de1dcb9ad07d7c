//! A shell script as words and operators: as much of the language as ordinary tests use. What is
//! beyond it is no script that we know.

/// What a script is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(Word),
    /// An operator, or the end of a line (`\n`).
    Operator(&'static str),
    Arithmetic(String),
}

/// One word as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    pub raw: String,
    /// Without its quotes, where nothing in it is expanded.
    pub plain: Option<String>,
    /// The names of variables outside of quotes, where their values may become several words; what
    /// is no variable is `$(`.
    pub unquoted: Vec<String>,
    /// The names of all variables in it, in quotes or not; `$(` where the output of a command is.
    pub names: Vec<String>,
    /// Whether there is a pattern for file names outside of quotes.
    pub globs: bool,
    /// The commands it runs: `$(…)` and `<(…)`.
    pub commands: Vec<String>,
    pub arithmetic: Vec<String>,
}

const OPERATORS: &[&str] = &[
    "\n", ";;", "&&", "||", "|&", "|", "&>>", "&>", "&", ";", "<<<", "<<-", "<<", "<&", "<>", "<",
    ">>", ">&", ">|", ">", "(", ")",
];

/// The tokens of a script; nothing when it uses what is not known here.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    // A line that goes on in the next one is one line.
    let text = text.replace("\\\n", "");
    let mut reader = Reader { text: &text, at: 0 };
    let mut tokens = Vec::new();
    let mut here: Vec<String> = Vec::new();
    loop {
        reader.blanks();
        let Some(next) = reader.peek() else { break };
        if next == '#' {
            reader.at += reader.rest().find('\n').unwrap_or(reader.rest().len());
        } else if let Some(body) = reader.rest().strip_prefix("((") {
            let end = body.find("))")?;
            tokens.push(Token::Arithmetic(body[..end].to_owned()));
            reader.at += end + 4;
        } else if let Some(operator) = OPERATORS
            .iter()
            .find(|operator| reader.rest().starts_with(**operator) && !reader.is_substitution())
        {
            reader.at += operator.len();
            if *operator == "\n" {
                for end in std::mem::take(&mut here) {
                    reader.here_document(&end)?;
                }
            }
            tokens.push(Token::Operator(operator));
            if operator.starts_with("<<") && *operator != "<<<" {
                reader.blanks();
                let end = reader.word()?;
                here.push(end.raw.clone());
                tokens.push(Token::Word(end));
            }
        } else {
            let word = reader.word()?;
            // A number before a redirection is a descriptor.
            let is_descriptor = word.raw.chars().all(|c| c.is_ascii_digit())
                && reader.rest().starts_with(['<', '>']);
            if !is_descriptor {
                tokens.push(Token::Word(word));
            }
        }
    }
    here.is_empty().then_some(tokens)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\r')) {
            self.at += 1;
        }
    }

    fn is_substitution(&self) -> bool {
        self.rest().starts_with("<(")
    }

    /// Skips a document up to its end. One that runs commands is not known here.
    fn here_document(&mut self, end: &str) -> Option<()> {
        let is_quoted = end.contains(['\'', '"', '\\']);
        let end = end.replace(['\'', '"', '\\'], "");
        loop {
            let rest = self.rest();
            let (line, more) = rest.split_once('\n').unwrap_or((rest, ""));
            self.at += rest.len() - more.len();
            if line.trim_start_matches('\t') == end {
                return Some(());
            }
            if more.is_empty()
                || !is_quoted && (line.contains('`') || line.contains("$(") || line.contains("${"))
            {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut word = Word {
            plain: Some(String::new()),
            ..Word::default()
        };
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '>' | '(' | ')' => break,
                '<' if self.at == start && self.is_substitution() => {
                    self.at += 2;
                    word.commands.push(self.until_closed()?);
                    word.plain = None;
                    word.unquoted.push("$(".to_owned());
                }
                '<' => break,
                '`' => return None,
                '\'' => {
                    self.at += 1;
                    let end = self.rest().find('\'')?;
                    add(&mut word.plain, &self.rest()[..end]);
                    self.at += end + 1;
                }
                '"' => self.quoted(&mut word)?,
                '\\' => {
                    self.at += 1;
                    add(&mut word.plain, self.next()?.encode_utf8(&mut [0; 4]));
                }
                '$' => self.expansion(&mut word, false)?,
                other => {
                    self.at += other.len_utf8();
                    // Braces make several words of one.
                    word.globs |= matches!(other, '*' | '?' | '[' | '~')
                        || other == '{' && !matches!(self.peek(), None | Some(' ' | '\n' | '}'));
                    add(&mut word.plain, other.encode_utf8(&mut [0; 4]));
                }
            }
        }
        self.text[start..self.at].clone_into(&mut word.raw);
        (self.at > start).then_some(word)
    }

    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '`' => return None,
                '$' => self.expansion(word, true)?,
                '\\' => {
                    self.at += 1;
                    let escaped = self.next()?;
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        add(&mut word.plain, "\\");
                    }
                    add(&mut word.plain, escaped.encode_utf8(&mut [0; 4]));
                }
                other => {
                    self.at += other.len_utf8();
                    add(&mut word.plain, other.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// What begins with a dollar sign. Of `${…}` only what names a variable or its length: the
    /// others can look things up or run something.
    fn expansion(&mut self, word: &mut Word, is_quoted: bool) -> Option<()> {
        self.at += 1;
        let rest = self.rest();
        // A result of arithmetic is a number; of the others it is said below.
        let mut name = "$(";
        if let Some(body) = rest.strip_prefix("((") {
            let end = body.find("))")?;
            word.arithmetic.push(body[..end].to_owned());
            self.at += end + 4;
            word.plain = None;
            return Some(());
        } else if rest.starts_with('(') {
            self.at += 1;
            word.commands.push(self.until_closed()?);
        } else if let Some(body) = rest.strip_prefix('{') {
            let end = body.find('}')?;
            name = body[..end].strip_prefix('#').unwrap_or(&body[..end]);
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            self.at += end + 2;
        } else if rest.starts_with(['\'', '"', '[']) && !is_quoted {
            return None;
        } else {
            let first = rest
                .chars()
                .next()
                .filter(|c| is_name(*c) || "@*#?$!-".contains(*c));
            let Some(first) = first else {
                // A dollar sign by itself.
                add(&mut word.plain, "$");
                return Some(());
            };
            let is_variable = is_name(first) && !first.is_ascii_digit();
            let length = if is_variable {
                rest.find(|c| !is_name(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            name = &rest[..length];
            self.at += length;
        }
        word.plain = None;
        word.names.push(name.to_owned());
        if !is_quoted {
            word.unquoted.push(name.to_owned());
        }
        Some(())
    }

    /// The text up to the bracket that closes this one, which is behind us.
    fn until_closed(&mut self) -> Option<String> {
        let start = self.at;
        loop {
            match self.peek()? {
                ')' => {
                    self.at += 1;
                    return Some(self.text[start..self.at - 1].to_owned());
                }
                '(' => {
                    self.at += 1;
                    self.until_closed()?;
                }
                '\'' => {
                    self.at += 1;
                    self.at += self.rest().find('\'')? + 1;
                }
                '"' => self.quoted(&mut Word::default())?,
                '\\' => {
                    self.at += 1;
                    self.next()?;
                }
                '#' | '`' => return None,
                other => self.at += other.len_utf8(),
            }
        }
    }
}

fn add(plain: &mut Option<String>, text: &str) {
    if let Some(plain) = plain {
        plain.push_str(text);
    }
}

/// What names of variables are made of.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
