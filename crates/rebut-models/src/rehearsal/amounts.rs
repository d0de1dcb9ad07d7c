//! Numbers with units: "6 weeks", "€40k", "40 % of revenue".

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time of people or calendars, in days.
    Days,
    /// Time of machines, in milliseconds.
    Millis,
    /// Money of any currency.
    Money,
    /// A share of a hundred.
    Percent,
    /// Nothing said.
    Bare,
}

/// A number found in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// What it measures.
    pub unit: Unit,
    /// How much of it.
    pub value: f64,
}

/// More numbers than this in one clause are data, not an argument.
const MOST: usize = 8;

/// The numbers of a clause. Of a range like "4-6 weeks" the end that has the unit counts.
pub fn amounts(text: &str) -> Vec<Amount> {
    let tokens: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "-–—()/|~≈".contains(c))
        .map(|token| {
            token.trim_matches([',', '.', ':', ';', '!', '?', '"', '*', '_', '`', '“', '”'])
        })
        .filter(|token| !token.is_empty())
        .collect();
    let found = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| amount(token, tokens.get(at + 1).copied().unwrap_or("")));
    found.take(MOST).collect()
}

fn amount(token: &str, next: &str) -> Option<Amount> {
    if let Some(number) = NUMBERS
        .iter()
        .position(|word| token.eq_ignore_ascii_case(word))
    {
        // "one" and friends are numbers only before a unit.
        let (unit, factor) = unit_of(next).filter(|_| !next.is_empty())?;
        return Some(Amount {
            unit,
            value: (number + 1) as f64 * factor,
        });
    }
    let currency = token.starts_with(['€', '$', '£', '¥']);
    let digits = token.trim_start_matches(['€', '$', '£', '¥']);
    let end = digits
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .unwrap_or(digits.len());
    let value = parse(&digits[..end])?;
    let (value, suffix) = scaled(value, &digits[end..]);
    if currency || suffix.starts_with(['€', '$', '£', '¥']) {
        return Some(Amount {
            unit: Unit::Money,
            value,
        });
    }
    let word = if suffix.is_empty() { next } else { suffix };
    let (unit, factor) = unit_of(word).or((suffix.is_empty()).then_some((Unit::Bare, 1.0)))?;
    Some(Amount {
        unit,
        value: value * factor,
    })
}

const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

/// Reads "1,200", "2.5" and "2,5".
fn parse(digits: &str) -> Option<f64> {
    let digits = digits.trim_end_matches(['.', ',']);
    let thousands = digits.split(',').skip(1).all(|group| group.len() == 3);
    let plain = if thousands {
        digits.replace(',', "")
    } else {
        digits.replace(',', ".")
    };
    plain.parse().ok().filter(|value: &f64| value.is_finite())
}

fn scaled(value: f64, suffix: &str) -> (f64, &str) {
    match suffix.chars().next() {
        Some('k' | 'K') if !suffix[1..].starts_with(char::is_alphabetic) => {
            (value * 1e3, &suffix[1..])
        }
        Some('M') if !suffix[1..].starts_with(char::is_alphabetic) => (value * 1e6, &suffix[1..]),
        _ => (value, suffix),
    }
}

fn unit_of(word: &str) -> Option<(Unit, f64)> {
    let lower = word.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    Some(match singular {
        "%" | "percent" => (Unit::Percent, 1.0),
        "m" if lower == "ms" => (Unit::Millis, 1.0),
        "millisecond" | "milli" => (Unit::Millis, 1.0),
        "second" | "sec" => (Unit::Millis, 1e3),
        "hour" | "hr" => (Unit::Days, 0.125),
        "day" | "d" => (Unit::Days, 1.0),
        "week" | "wk" => (Unit::Days, 5.0),
        "sprint" => (Unit::Days, 10.0),
        "month" => (Unit::Days, 21.0),
        "quarter" => (Unit::Days, 63.0),
        "year" | "yr" => (Unit::Days, 250.0),
        "€" | "$" | "£" | "eur" | "euro" | "usd" | "dollar" | "gbp" => (Unit::Money, 1.0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        let rows: &[(&str, Unit, f64)] = &[
            ("takes 6 weeks", Unit::Days, 30.0),
            ("about two months.", Unit::Days, 42.0),
            ("€40k a year", Unit::Money, 40_000.0),
            ("costs 1,200 EUR", Unit::Money, 1200.0),
            ("40 % of revenue", Unit::Percent, 40.0),
            ("(40%)", Unit::Percent, 40.0),
            ("p99 is 12ms", Unit::Millis, 12.0),
            ("2.5 days", Unit::Days, 2.5),
        ];
        for (text, unit, value) in rows {
            assert!(
                amounts(text).contains(&Amount {
                    unit: *unit,
                    value: *value
                }),
                "{text}: {:?}",
                amounts(text)
            );
        }
        assert_eq!(amounts("one of us"), []);
        assert_eq!(
            amounts("4-6 weeks").last(),
            Some(&Amount {
                unit: Unit::Days,
                value: 30.0
            })
        );
    }
}
