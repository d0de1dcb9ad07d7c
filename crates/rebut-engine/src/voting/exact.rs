//! Exact numbers: sums of votes and shares of votes are fractions, never floats. Pure.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, fmt, ops};

/// An exact number. Prints as a decimal where that is finite (`2.5`), else as a fraction (`7/3`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(BigRational);

impl Exact {
    pub fn zero() -> Self {
        Self(BigRational::zero())
    }

    pub fn whole(number: impl Into<BigInt>) -> Self {
        Self(BigRational::from_integer(number.into()))
    }

    /// So many units, of which 10^`decimals` make one.
    pub fn of_units(units: impl Into<BigInt>, decimals: u32) -> Self {
        if decimals == 0 {
            return Self::whole(units);
        }
        Self(BigRational::new(
            units.into(),
            BigInt::from(10).pow(decimals),
        ))
    }

    /// Divided into so many equal parts; into none, it is left as it is.
    pub fn split(self, parts: impl Into<BigInt>) -> Self {
        let parts = parts.into();
        if parts < BigInt::from(2) {
            self
        } else {
            Self(self.0 / parts)
        }
    }

    /// Divided by another; nothing when that is zero.
    pub fn by(&self, other: &Self) -> Self {
        if other.is_zero() {
            Self::zero()
        } else {
            Self(&self.0 / &other.0)
        }
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// For showing only, never compared: six decimals, an exact half to the even digit.
    pub fn approximately(&self) -> f64 {
        let scaled = &self.0 * BigInt::from(1_000_000);
        let below = scaled.floor().to_integer();
        let up = match (&scaled - &below).cmp(&BigRational::new(BigInt::one(), BigInt::from(2))) {
            Ordering::Less => false,
            Ordering::Equal => (&below % 2u32).is_one(),
            Ordering::Greater => true,
        };
        (below + u32::from(up)).to_f64().unwrap_or(f64::MAX) / 1e6
    }
}

impl ops::AddAssign<&Exact> for Exact {
    fn add_assign(&mut self, other: &Exact) {
        self.0 += &other.0;
    }
}

impl ops::Mul for &Exact {
    type Output = Exact;

    fn mul(self, other: &Exact) -> Exact {
        Exact(&self.0 * &other.0)
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_integer() {
            return write!(f, "{}", self.0.numer());
        }
        let Some(decimals) = finite_decimals(self.0.denom()) else {
            return write!(f, "{}/{}", self.0.numer(), self.0.denom());
        };
        let digits =
            (self.0.numer().abs() * BigInt::from(10).pow(decimals) / self.0.denom()).to_string();
        let sign = if self.0.numer().sign() == Sign::Minus {
            "-"
        } else {
            ""
        };
        let decimals = decimals as usize;
        let digits = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, part) = digits.split_at(digits.len() - decimals);
        write!(f, "{sign}{whole}.{part}")
    }
}

/// How many decimals a fraction with this denominator has, if they end.
fn finite_decimals(denominator: &BigInt) -> Option<u32> {
    let mut rest = denominator.clone();
    let mut times = |prime: u32| {
        let mut count = 0;
        while (&rest % prime).is_zero() {
            rest /= prime;
            count += 1;
        }
        count
    };
    let decimals = times(2).max(times(5));
    rest.is_one().then_some(decimals)
}

/// A number in a result: a whole number, or an exact decimal or fraction as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// Votes that are counted one by one.
    Whole(i64),
    /// `0.62`, or `7/3`.
    Exact(String),
}

impl Figure {
    /// Numbers that belong together get one form: whole numbers if all are, and text as soon as one
    /// is not, or where weights count.
    pub fn all<'a>(numbers: impl Iterator<Item = &'a Exact> + Clone, weighed: bool) -> Vec<Self> {
        let whole = |number: &Exact| {
            number
                .0
                .is_integer()
                .then(|| number.0.numer().to_i64())
                .flatten()
        };
        let wholes: Option<Vec<Self>> = if weighed {
            None
        } else {
            numbers
                .clone()
                .map(|number| whole(number).map(Self::Whole))
                .collect()
        };
        wholes.unwrap_or_else(|| {
            numbers
                .map(|number| Self::Exact(number.to_string()))
                .collect()
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Exact(text) => f.pad(text),
        }
    }
}

/// Reads a decimal such as `-0.25` or `7e-1` as units of 10^-`decimals`. Digits beyond are rounded
/// half up, or an error.
pub(super) fn units(text: &str, decimals: u32, round: bool) -> Result<i128, String> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = !(whole.is_empty() && part.is_empty())
        && [whole, part]
            .iter()
            .all(|text| text.bytes().all(|b| b.is_ascii_digit()));
    let exponent: i64 = exponent
        .parse()
        .ok()
        .filter(|_| is_number)
        .ok_or("not a decimal number such as 0.7")?;
    let digits = format!("{whole}{part}");
    // How many digits stand before the last unit.
    let keep = (whole.len() as i64)
        .saturating_add(exponent)
        .saturating_add(i64::from(decimals));
    let significant = digits.trim_start_matches('0').len() as i64;
    let leading = digits.len() as i64 - significant;
    if significant > 0 && keep.saturating_sub(leading) > 36 {
        return Err("too large".to_owned());
    }
    let mut value: i128 = 0;
    for at in leading..keep.max(leading) {
        let digit = usize::try_from(at)
            .ok()
            .and_then(|at| digits.as_bytes().get(at))
            .map_or(0, |b| i128::from(b - b'0'));
        // A zero stays zero however far it is shifted.
        if significant == 0 {
            break;
        }
        value = value * 10 + digit;
    }
    let beyond = usize::try_from(keep).map_or(&digits[..], |keep| digits.get(keep..).unwrap_or(""));
    if !round && beyond.bytes().any(|b| b != b'0') {
        return Err(format!("more than {decimals} decimals"));
    }
    let up = usize::try_from(keep)
        .ok()
        .and_then(|keep| digits.as_bytes().get(keep))
        .is_some_and(|b| *b >= b'5');
    value += i128::from(round && up);
    Ok(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_and_printed_exactly() {
        let rows = [
            ("0.7", Ok("0.7")),
            ("1.40", Ok("1.4")),
            (".5", Ok("0.5")),
            ("5.", Ok("5")),
            ("007", Ok("7")),
            ("-0.25", Ok("-0.25")),
            ("7e-1", Ok("0.7")),
            ("1.5E3", Ok("1500")),
            ("0e999999999", Ok("0")),
            ("0.000000000000000001", Ok("0.000000000000000001")),
            ("0.0000000000000000010", Ok("0.000000000000000001")),
            ("0.0000000000000000001", Err("more than 18 decimals")),
            ("1e-400", Err("more than 18 decimals")),
            ("1e400", Err("too large")),
            ("", Err("not a decimal number such as 0.7")),
            (".", Err("not a decimal number such as 0.7")),
            ("NaN", Err("not a decimal number such as 0.7")),
            ("1,5", Err("not a decimal number such as 0.7")),
            ("١", Err("not a decimal number such as 0.7")),
        ];
        for (text, expected) in rows {
            let read = units(text, 18, false).map(|units| Exact::of_units(units, 18).to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
        }
        for (text, expected) in [
            ("0.1234565", 123_457),
            ("0.12345649", 123_456),
            ("1e-9", 0),
            ("1", 1_000_000),
            ("0.0000005", 1),
        ] {
            assert_eq!(units(text, 6, true), Ok(expected), "{text}");
        }
    }

    #[test]
    fn parts_are_fractions() {
        let mut third = Exact::whole(7).split(3);
        assert_eq!(
            (third.to_string(), third.approximately()),
            ("7/3".to_owned(), 2.333333)
        );
        third += &Exact::whole(2).split(3);
        assert_eq!(third, Exact::whole(3));
        assert_eq!(Exact::whole(5).split(8).to_string(), "0.625");
        assert_eq!(
            [2905, 2906].map(|units| Exact::whole(units).split(3200).approximately()),
            [0.907812, 0.908125]
        );
        let half = [Exact::whole(1), Exact::whole(1).split(2)];
        let text = |text: &str| Figure::Exact(text.to_owned());
        assert_eq!(Figure::all(half.iter(), false), [text("1"), text("0.5")]);
        assert_eq!(Figure::all(half[..1].iter(), false), [Figure::Whole(1)]);
        assert_eq!(Figure::all(half[..1].iter(), true), [text("1")]);
    }
}
