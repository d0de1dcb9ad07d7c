//! Rankings as one flat array, a column per candidate, and the loops over it that must run at
//! memory speed. Pure.
//!
//! A cell holds half Borda points: twice the number of candidates below, plus the number of equals.
//! That one number serves everything: it is larger exactly for the better candidate, equal exactly
//! for equals, and its sum is the Borda score. A column is contiguous, so that the loops below
//! compile to vector instructions.

use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Rows looked at together, so that all columns of them stay in the cache.
const TILE: usize = 4096;

/// The cells, as narrow as the number of candidates allows.
#[derive(Clone, Debug)]
enum Cells {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

#[derive(Clone, Debug)]
pub(super) struct Columns {
    candidates: usize,
    rows: usize,
    cells: Cells,
    /// Rows whose first tier has several candidates.
    shared_first: Vec<u32>,
    strict: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Votes {
    One,
    Units(Vec<u128>),
}

/// First choices of some candidates: undivided votes, and votes to divide by the size of the shared
/// tier.
#[derive(Clone, Debug, Default)]
pub(super) struct Firsts {
    pub sole: Vec<u128>,
    /// By size of the tier, then by candidate.
    pub shared: BTreeMap<u64, Vec<u128>>,
}

impl Votes {
    pub fn of(&self, voter: usize) -> u128 {
        match self {
            Self::One => 1,
            Self::Units(units) => units[voter],
        }
    }
}

impl Firsts {
    /// Gives votes to all members of a tier of this size, to be divided among them.
    fn share(&mut self, size: u64, members: impl Iterator<Item = usize>, votes: u128) {
        let candidates = self.sole.len();
        let shared = self
            .shared
            .entry(size)
            .or_insert_with(|| vec![0; candidates]);
        members.for_each(|at| shared[at] += votes);
    }
}

/// What a cell type can do fast. Counts stay in the cell's own width for as long as they fit, which
/// keeps vectors full.
trait Cell: Copy + Ord + Default + Into<u64> {
    const TILE_ZERO: [Self; TILE];
    fn bump(self, by: bool) -> Self;
    fn above(a: &[Self], b: &[Self]) -> u64;
    fn sole(a: &[Self], best: &[Self], equals: &[Self]) -> u64;
    fn sum(a: &[Self]) -> u64;
    fn from_half_points(points: u16) -> Self;
}

macro_rules! cell {
    ($cell:ty, $lanes:literal) => {
        impl Cell for $cell {
            const TILE_ZERO: [Self; TILE] = [0; TILE];

            fn bump(self, by: bool) -> Self {
                self.wrapping_add(Self::from(by))
            }

            fn above(a: &[Self], b: &[Self]) -> u64 {
                const BLOCK: usize = $lanes * 255;
                let mut total = 0;
                for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
                    let mut lanes = [0 as $cell; $lanes];
                    let ((a, a_rest), (b, b_rest)) =
                        (a.as_chunks::<$lanes>(), b.as_chunks::<$lanes>());
                    for (a, b) in a.iter().zip(b) {
                        for lane in 0..$lanes {
                            lanes[lane] =
                                lanes[lane].wrapping_add(<$cell>::from(a[lane] > b[lane]));
                        }
                    }
                    total += lanes.iter().map(|&count| u64::from(count)).sum::<u64>();
                    total += a_rest
                        .iter()
                        .zip(b_rest)
                        .map(|(a, b)| u64::from(a > b))
                        .sum::<u64>();
                }
                total
            }

            fn sole(a: &[Self], best: &[Self], equals: &[Self]) -> u64 {
                const BLOCK: usize = 255;
                let mut total = 0;
                for ((a, best), equals) in a
                    .chunks(BLOCK)
                    .zip(best.chunks(BLOCK))
                    .zip(equals.chunks(BLOCK))
                {
                    let hits = a
                        .iter()
                        .zip(best)
                        .zip(equals)
                        .map(|((a, best), equals)| <$cell>::from((a == best) & (*equals == 1)));
                    total += u64::from(hits.fold(0 as $cell, <$cell>::wrapping_add));
                }
                total
            }

            fn sum(a: &[Self]) -> u64 {
                a.chunks(1 << 16)
                    .map(|block| {
                        u64::from(
                            block
                                .iter()
                                .map(|&cell| u32::from(cell))
                                .fold(0, u32::wrapping_add),
                        )
                    })
                    .sum()
            }

            fn from_half_points(points: u16) -> Self {
                points as $cell
            }
        }
    };
}

cell!(u8, 32);
cell!(u16, 32);

/// Runs the same code for either width.
macro_rules! each_width {
    ($columns:expr, |$cells:ident| $body:expr) => {
        match &$columns.cells {
            Cells::Narrow($cells) => $body,
            Cells::Wide($cells) => $body,
        }
    };
}

impl Columns {
    /// Turns rows of half points into columns. `shared_first` are the rows with several first
    /// choices.
    pub fn new(candidates: usize, rows: &[u16], shared_first: Vec<u32>, strict: bool) -> Self {
        let count = rows.len().checked_div(candidates).unwrap_or(0);
        let narrow = 2 * candidates <= 256;
        let cells = if narrow {
            Cells::Narrow(transposed(rows, candidates, count))
        } else {
            Cells::Wide(transposed(rows, candidates, count))
        };
        Self {
            candidates,
            rows: count,
            cells,
            shared_first,
            strict,
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// How many bytes the cells take.
    pub fn bytes(&self) -> usize {
        match &self.cells {
            Cells::Narrow(cells) => cells.len(),
            Cells::Wide(cells) => 2 * cells.len(),
        }
    }

    /// A plain sum over everything: what reading the array costs.
    pub fn checksum(&self) -> u64 {
        each_width!(self, |cells| Cell::sum(cells))
    }

    pub fn cell(&self, candidate: usize, row: usize) -> u64 {
        each_width!(self, |cells| cells[candidate * self.rows + row].into())
    }

    pub fn firsts(&self, votes: &Votes) -> Firsts {
        let all: Vec<usize> = (0..self.candidates).collect();
        match votes {
            Votes::One => self.firsts_of_one_vote(),
            Votes::Units(_) => self.firsts_among(&all, votes),
        }
    }

    /// One pass: whoever has the highest value there is, is alone in first place; rows that share
    /// it are known.
    fn firsts_of_one_vote(&self) -> Firsts {
        let mut firsts = Firsts {
            sole: vec![0; self.candidates],
            shared: BTreeMap::new(),
        };
        match self.candidates {
            0 => {}
            1 => firsts.sole[0] = self.rows as u128,
            many => each_width!(self, |cells| {
                // Only a first place of one's own is above this.
                let below = vec![Cell::from_half_points(2 * many as u16 - 3); TILE];
                for (candidate, sole) in firsts.sole.iter_mut().enumerate() {
                    let tiles = column(cells, self.rows, candidate).chunks(TILE);
                    *sole = tiles
                        .map(|tile| Cell::above(tile, &below[..tile.len()]))
                        .sum::<u64>()
                        .into();
                }
            }),
        }
        for &row in &self.shared_first {
            let first = self.first_tier(row as usize);
            firsts.share(first.len() as u64, first.iter().copied(), 1);
        }
        firsts
    }

    /// The best candidates of a row.
    pub fn first_tier(&self, row: usize) -> Vec<usize> {
        let best = (0..self.candidates)
            .map(|candidate| self.cell(candidate, row))
            .max();
        (0..self.candidates)
            .filter(|&candidate| Some(self.cell(candidate, row)) == best)
            .collect()
    }

    /// First choices when only `remaining` are left; by place in `remaining`.
    pub fn firsts_among(&self, remaining: &[usize], votes: &Votes) -> Firsts {
        each_width!(self, |cells| firsts_among(
            cells, self.rows, remaining, votes
        ))
    }

    /// Sums of half points, by candidate. The one sum that 128 bits do not hold: the heaviest votes
    /// times the most points times as many ballots as there may be pass them. A tile of rows is far
    /// below.
    pub fn half_points(&self, votes: &Votes) -> Vec<BigInt> {
        let of = |candidate: usize| -> BigInt {
            each_width!(self, |cells| {
                let column = column(cells, self.rows, candidate);
                match votes {
                    Votes::One => Cell::sum(column).into(),
                    Votes::Units(units) => column
                        .chunks(TILE)
                        .zip(units.chunks(TILE))
                        .map(|(tile, units)| weighed_sum(tile, units))
                        .sum(),
                }
            })
        };
        (0..self.candidates).map(of).collect()
    }

    /// For each pair, the votes that put the first above the second: `n × n`, by row.
    pub fn pairwise(&self, votes: &Votes) -> Vec<u128> {
        let mut wins = vec![0; self.candidates * self.candidates];
        match votes {
            Votes::One => each_width!(self, |cells| pairwise(
                cells,
                self.rows,
                self.candidates,
                self.strict,
                &mut wins
            )),
            Votes::Units(units) => each_width!(self, |cells| weighed_pairwise(
                cells,
                self.candidates,
                units,
                self.rows,
                &mut wins
            )),
        }
        wins
    }
}

fn column<C>(cells: &[C], rows: usize, candidate: usize) -> &[C] {
    &cells[candidate * rows..][..rows]
}

fn weighed_sum<C: Cell>(cells: &[C], units: &[u128]) -> u128 {
    cells
        .iter()
        .zip(units)
        .map(|(&cell, units)| u128::from(Into::<u64>::into(cell)) * units)
        .sum()
}

fn transposed<C: Cell>(rows: &[u16], candidates: usize, count: usize) -> Vec<C> {
    let mut cells = vec![C::default(); candidates * count];
    for start in (0..count).step_by(64) {
        let end = count.min(start + 64);
        for candidate in 0..candidates {
            for row in start..end {
                cells[candidate * count + row] =
                    C::from_half_points(rows[row * candidates + candidate]);
            }
        }
    }
    cells
}

fn firsts_among<C: Cell>(cells: &[C], rows: usize, remaining: &[usize], votes: &Votes) -> Firsts {
    let mut firsts = Firsts {
        sole: vec![0; remaining.len()],
        shared: BTreeMap::new(),
    };
    let (mut best, mut equals) = (C::TILE_ZERO, C::TILE_ZERO);
    let mut for_all = 0;
    for start in (0..rows).step_by(TILE) {
        let length = TILE.min(rows - start);
        let tile = |candidate: usize| &column(cells, rows, candidate)[start..start + length];
        let (best, equals) = (&mut best[..length], &mut equals[..length]);
        best.fill(C::default());
        equals.fill(C::default());
        for &candidate in remaining {
            best.iter_mut()
                .zip(tile(candidate))
                .for_each(|(best, cell)| *best = (*best).max(*cell));
        }
        for &candidate in remaining {
            for ((equals, best), cell) in equals.iter_mut().zip(&*best).zip(tile(candidate)) {
                *equals = equals.bump(cell == best);
            }
        }
        let one = C::from_half_points(1);
        for (sole, &candidate) in firsts.sole.iter_mut().zip(remaining) {
            *sole += match votes {
                Votes::One => C::sole(tile(candidate), best, equals).into(),
                Votes::Units(units) => (0..length)
                    .filter(|&row| equals[row] == one && tile(candidate)[row] == best[row])
                    .map(|row| units[start + row])
                    .sum::<u128>(),
            };
        }
        for row in (0..length).filter(|&row| equals[row] > one) {
            // A ballot whose candidates are all gone: there can be many of them, and no need to
            // look at each candidate.
            if equals[row].into() == remaining.len() as u64 {
                for_all += votes.of(start + row);
                continue;
            }
            let members = (0..remaining.len())
                .filter(|&at| cells[remaining[at] * rows + start + row] == best[row]);
            firsts.share(equals[row].into(), members, votes.of(start + row));
        }
    }
    if for_all > 0 {
        firsts.share(remaining.len() as u64, 0..remaining.len(), for_all);
    }
    firsts
}

fn pairwise<C: Cell>(cells: &[C], rows: usize, candidates: usize, strict: bool, wins: &mut [u128]) {
    let mut counts = vec![0u64; wins.len()];
    for start in (0..rows).step_by(TILE) {
        let end = rows.min(start + TILE);
        let tile = |candidate: usize| &column(cells, rows, candidate)[start..end];
        for a in 0..candidates {
            for b in a + 1..candidates {
                let above = C::above(tile(a), tile(b));
                counts[a * candidates + b] += above;
                // Without equals, whoever is not above is below.
                counts[b * candidates + a] += if strict {
                    (end - start) as u64 - above
                } else {
                    C::above(tile(b), tile(a))
                };
            }
        }
    }
    wins.iter_mut()
        .zip(counts)
        .for_each(|(wins, count)| *wins = count.into());
}

fn weighed_pairwise<C: Cell>(
    cells: &[C],
    candidates: usize,
    units: &[u128],
    rows: usize,
    wins: &mut [u128],
) {
    for a in 0..candidates {
        for b in (0..candidates).filter(|b| *b != a) {
            let pairs = column(cells, rows, a)
                .iter()
                .zip(column(cells, rows, b))
                .zip(units);
            wins[a * candidates + b] = pairs
                .map(|((a, b), units)| if a > b { *units } else { 0 })
                .sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_the_heaviest_votes_pass_128_bits() {
        // As many cells as ballots may have would take long here: fewer of them, heavier than a
        // vote can be, make the same sum.
        let (candidates, count) = (128_u16, 40_000);
        let row: Vec<u16> = (0..candidates).map(|below| 2 * below).collect();
        let columns = Columns::new(candidates.into(), &row.repeat(count), Vec::new(), true);
        let vote = 4 * 10_u128.pow(31);
        let points = columns.half_points(&Votes::Units(vec![vote; count]));
        let most = BigInt::from(254 * count) * vote;
        assert!(most > u128::MAX.into());
        assert_eq!(
            (&points[0], &points[1], &points[127]),
            (&0.into(), &(BigInt::from(2 * count) * vote), &most)
        );
    }
}
