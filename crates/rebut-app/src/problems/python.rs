//! Just enough of Python's form to find a function in a text: where its signature, its docstring
//! and its body are. Nothing is run.

use std::ops::Range;

/// A program whose function does nothing: the body of `entry` becomes `return None`; signature,
/// docstring, imports and all else stay.
pub fn broken(source: &str, entry: &str) -> Result<String, String> {
    let found = definition(source, entry)
        .ok_or_else(|| format!("its solution has no function `{entry}` at the top level"))?;
    let before = source[..found.body.start].trim_end_matches([' ', '\t']);
    let on_the_same_line = !before.ends_with('\n');
    let (gap, indent) = if on_the_same_line {
        (" ", "")
    } else {
        ("", found.indent.as_str())
    };
    Ok(format!(
        "{before}{gap}{indent}return None\n{}",
        &source[found.body.end..]
    ))
}

/// The signature of a top-level function on one line, with its colon.
pub fn signature(source: &str, entry: &str) -> Option<String> {
    let found = definition(source, entry)?;
    Some(
        source[found.signature]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// A function's beginning (signature and docstring) and its body as one text. The docstring takes
/// the body's indentation: data in which they differ would be no Python.
pub fn joined(beginning: &str, body: &str) -> String {
    let ends = statements(beginning);
    let (Some(last), Some(first)) = (ends.last(), statements(body).into_iter().next()) else {
        return format!("{beginning}{body}");
    };
    let is_docstring = last.text.start > last.line && is_string(&beginning[last.text.clone()]);
    let differs = beginning[last.line..last.text.start] != body[first.line..first.text.start];
    if !is_docstring || !differs {
        return format!("{beginning}{body}");
    }
    let indent = &body[first.line..first.text.start];
    format!(
        "{}{indent}{}{body}",
        &beginning[..last.line],
        &beginning[last.text.start..]
    )
}

/// Calls of a function that a text shows as in a Python session: `>>> name(1, 2)`.
pub fn examples(text: &str, entry: &str) -> Vec<String> {
    let call = format!("{entry}(");
    let shown = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(">>>"))
        .map(str::trim);
    shown
        .filter(|line| line.starts_with(&call) && line.ends_with(')'))
        .map(str::to_owned)
        .collect()
}

struct Definition {
    signature: Range<usize>,
    body: Range<usize>,
    indent: String,
}

fn definition(source: &str, entry: &str) -> Option<Definition> {
    let all = statements(source);
    let starts = |statement: &Statement| {
        let text = &source[statement.text.clone()];
        let rest = text
            .strip_prefix("async ")
            .unwrap_or(text)
            .trim_start()
            .strip_prefix("def ")?
            .trim_start();
        rest.strip_prefix(entry)?
            .trim_start()
            .starts_with('(')
            .then_some(())
    };
    let at = all.iter().position(|statement| {
        statement.line == statement.text.start && starts(statement).is_some()
    })?;
    let head = &all[at];
    let colon = head.colon?;
    let signature = head.text.start..colon + 1;
    let rest = source[colon + 1..head.text.end].trim();
    if !rest.is_empty() && !rest.starts_with('#') {
        return Some(Definition {
            signature,
            body: colon + 1..head.text.end,
            indent: String::new(),
        });
    }
    let inside: Vec<&Statement> = all[at + 1..]
        .iter()
        .take_while(|statement| statement.text.start > statement.line)
        .collect();
    let (first, last) = (inside.first()?, inside.last()?);
    let indent = source[first.line..first.text.start].to_owned();
    let start = if is_string(&source[first.text.clone()]) {
        first.text.end
    } else {
        first.line
    };
    Some(Definition {
        signature,
        body: start..last.text.end.max(start),
        indent,
    })
}

/// One statement: where its line begins, its text with the line's end, and the first colon outside
/// brackets.
struct Statement {
    line: usize,
    text: Range<usize>,
    colon: Option<usize>,
}

/// The statements of a text, over as many lines as brackets, strings and backslashes make them.
/// Blank lines and comments are none.
fn statements(source: &str) -> Vec<Statement> {
    let bytes = source.as_bytes();
    let (mut found, mut line) = (Vec::new(), 0);
    while line < bytes.len() {
        let start = (line..bytes.len())
            .find(|at| !b" \t\x0c".contains(&bytes[*at]))
            .unwrap_or(bytes.len());
        let is_none = start == bytes.len() || b"\r\n#".contains(&bytes[start]);
        let (end, colon) = if is_none {
            (line_end(bytes, start), None)
        } else {
            statement_end(bytes, start)
        };
        if !is_none {
            found.push(Statement {
                line,
                text: start..end,
                colon,
            });
        }
        line = end;
    }
    found
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |at| from + at + 1)
}

/// Where a statement ends, and its first colon outside brackets.
fn statement_end(bytes: &[u8], start: usize) -> (usize, Option<usize>) {
    let (mut at, mut depth, mut colon) = (start, 0_usize, None);
    while at < bytes.len() {
        match bytes[at] {
            b'\n' if depth == 0 => return (at + 1, colon),
            b'#' => {
                at = line_end(bytes, at).saturating_sub(1).max(at);
                if bytes[at] != b'\n' {
                    return (bytes.len(), colon);
                }
                continue;
            }
            b'\\' => at += 1,
            b'\'' | b'"' => at = string_end(bytes, at) - 1,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => colon = colon.or(Some(at)),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), colon)
}

/// The end of the string that begins with the quotation mark at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let is_long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if is_long { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if !is_long => return at,
            byte if byte == quote && !is_long => return at + 1,
            byte if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Whether a statement is a string and nothing else.
fn is_string(text: &str) -> bool {
    let bare = text.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    let is_quoted = bare.starts_with(['"', '\'']);
    is_quoted && {
        let rest = bare[string_end(bare.as_bytes(), 0).min(bare.len())..].trim();
        rest.is_empty() || rest.starts_with('#')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_program_keeps_all_but_the_body() {
        let rows = [
            ("def f(a, b): return a + b\n", "def f(a, b): return None\n"),
            ("def f(a):\n    return a\n", "def f(a):\n    return None\n"),
            (
                "def f(a):  # doubled\n  x = 2\n  return a * x\n",
                "def f(a):  # doubled\n  return None\n",
            ),
            (
                concat!(
                    "import re\n\ndef g(): return 1\n\ndef f(\n    a: dict = {'x': 1},\n",
                    ") -> int:\n    \"\"\"Says:\n  odd indentation\n\"\"\"\n    y = (a,\n1)\n    \
                     return y\n\nz = f\n"
                ),
                concat!(
                    "import re\n\ndef g(): return 1\n\ndef f(\n    a: dict = {'x': 1},\n",
                    ") -> int:\n    \"\"\"Says:\n  odd indentation\n\"\"\"\n    return None\n\nz = \
                     f\n"
                ),
            ),
            (
                "@cached\nasync def f(s=')#'):\n\t'''doc'''\n\tif s:\n\t\treturn '''\nx'''\n# \
                 end\ndef other(): pass\n",
                "@cached\nasync def f(s=')#'):\n\t'''doc'''\n\treturn None\n# end\ndef other(): \
                 pass\n",
            ),
            (
                "def fg(a):\n  return 1\ndef f(a):\n  'only a docstring'\n",
                "def fg(a):\n  return 1\ndef f(a):\n  'only a docstring'\n  return None\n",
            ),
        ];
        for (source, expected) in rows {
            assert_eq!(broken(source, "f").as_deref(), Ok(expected));
        }
        assert!(
            broken("class A:\n  def f(self): pass\n", "f").is_err(),
            "a method is not the function"
        );
        assert!(broken("", "f").is_err());
    }

    #[test]
    fn a_docstring_takes_the_indentation_of_the_body() {
        let rows = [
            (
                "def f(a):\n    '''Do.\n    '''\n",
                "  return a\n",
                "def f(a):\n  '''Do.\n    '''\n  return a\n",
            ),
            (
                "def f(a):\n    '''Do.'''\n",
                "    return a\n",
                "def f(a):\n    '''Do.'''\n    return a\n",
            ),
            (
                "def f(a):\n    '''Do.'''\n",
                "# note\n\treturn a\n",
                "def f(a):\n\t'''Do.'''\n# note\n\treturn a\n",
            ),
        ];
        for (beginning, body, expected) in rows {
            assert_eq!(joined(beginning, body), expected);
        }
    }

    #[test]
    fn signatures_and_examples_are_found() {
        assert_eq!(
            signature("x = 1\ndef f(a,\n      b=[1]) -> int :\n    pass\n", "f").as_deref(),
            Some("def f(a, b=[1]) -> int :")
        );
        assert_eq!(signature("f = 1\n", "f"), None);
        let text = "    >>> f([1, 2])\n    3\n    >>> print(f(1))\n    >>> f(\n    >>> f(2)\n";
        assert_eq!(examples(text, "f"), ["f([1, 2])", "f(2)"]);
    }
}
