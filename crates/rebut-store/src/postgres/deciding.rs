//! Which works of a batch may be written, given what the database holds under their locks. Pure.

use crate::transaction::Work;
use rebut_engine::{
    DebateId,
    record::Hash,
    store::{Append, Claim, StoreError},
};
use std::collections::HashMap;
use uuid::Uuid;

/// What is known about the debates of a batch. Deciding moves it on as if the works were written.
#[derive(Default)]
pub(super) struct Facts {
    debates: HashMap<DebateId, Fact>,
}

/// What the database holds of one debate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fact {
    pub(super) count: u64,
    /// The hash of the last of them; zero where there is none.
    pub(super) head: Hash,
    pub(super) kept: bool,
    pub(super) claim: Option<Claimed>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Claimed {
    pub(super) node: Uuid,
    pub(super) holder: String,
    pub(super) is_living: bool,
}

impl Facts {
    pub(super) fn new(found: impl IntoIterator<Item = (DebateId, Fact)>) -> Self {
        Self {
            debates: found.into_iter().collect(),
        }
    }

    /// For each work, in order, whether `me` may write it.
    pub(super) fn decide(&mut self, works: &[Work], me: Uuid) -> Vec<Result<(), StoreError>> {
        works.iter().map(|work| self.take(work, me)).collect()
    }

    fn take(&mut self, work: &Work, me: Uuid) -> Result<(), StoreError> {
        match work {
            Work::Append(append) => self.debate(append.debate).append(append, me),
            Work::Redact(tombstone, append) => {
                let fact = self.debate(append.debate);
                if fact.count == 0 {
                    return Err(StoreError::NotFound(append.debate.to_string()));
                }
                fact.check(append, me)?;
                if tombstone.debate != append.debate
                    || tombstone.seq == 0
                    || tombstone.seq > fact.count
                {
                    return Err(StoreError::NotFound(format!(
                        "event {} of {}",
                        tombstone.seq, append.debate
                    )));
                }
                fact.append(append, me)
            }
            Work::Remove(debate) => {
                let fact = self.debate(*debate);
                if let Some(claim) = fact.living_but(me) {
                    return Err(StoreError::Held {
                        debate: *debate,
                        by: claim.holder.clone(),
                    });
                }
                match std::mem::take(fact) {
                    Fact {
                        count: 0,
                        kept: false,
                        claim: None,
                        ..
                    } => Err(StoreError::NotFound(debate.to_string())),
                    _ => Ok(()),
                }
            }
        }
    }

    fn debate(&mut self, debate: DebateId) -> &mut Fact {
        self.debates.entry(debate).or_default()
    }
}

impl Fact {
    fn append(&mut self, append: &Append, me: Uuid) -> Result<(), StoreError> {
        self.check(append, me)?;
        self.count += append.records.len() as u64;
        self.head = append.records.last().map_or(self.head, |last| last.hash);
        self.kept |=
            append.session.is_some() || !append.checkpoints.is_empty() || !append.turns.is_empty();
        match append.claim {
            Claim::Keep | Claim::Hold => {}
            Claim::Take => {
                self.claim = Some(Claimed {
                    node: me,
                    holder: String::new(),
                    is_living: true,
                })
            }
            Claim::Release => self.claim = None,
        }
        Ok(())
    }

    /// The lease of another that has not expired.
    fn living_but(&self, me: Uuid) -> Option<&Claimed> {
        self.claim
            .as_ref()
            .filter(|claim| claim.node != me && claim.is_living)
    }

    /// Everything that can refuse an append.
    fn check(&self, append: &Append, me: Uuid) -> Result<(), StoreError> {
        let debate = append.debate;
        if let Some(error) = append.misfit() {
            return Err(StoreError::Failed(error));
        }
        let conflict = StoreError::Conflict {
            debate,
            count: self.count,
            head: self.head,
        };
        if self.count < append.after {
            // The database went back, and its claims with it: they say nothing about who runs the
            // debate now.
            return Err(conflict);
        }
        let other = self.claim.as_ref().filter(|claim| claim.node != me);
        let living = self.living_but(me);
        match append.claim {
            Claim::Take if let Some(claim) = living => {
                return Err(StoreError::Held {
                    debate,
                    by: claim.holder.clone(),
                });
            }
            // The end of a debate is written by whoever runs it, as everything before.
            Claim::Release if let Some(claim) = living => {
                return Err(StoreError::Lost {
                    debate,
                    by: claim.holder.clone(),
                });
            }
            // An expired lease that nobody took is still ours; one that is gone was taken and given
            // up by another.
            Claim::Hold if self.claim.is_none() || other.is_some() => {
                let by = other.map_or_else(
                    || "another process, which has let go of it since".to_owned(),
                    |claim| claim.holder.clone(),
                );
                return Err(StoreError::Lost { debate, by });
            }
            _ => {}
        }
        if (self.count, self.head) == (append.after, append.prev) {
            Ok(())
        } else {
            Err(conflict)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_decides_who_may_write() {
        let (me, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let debate = DebateId::new();
        let by = || "another node".to_owned();
        let lease = |node, is_living| {
            Some(Claimed {
                node,
                holder: by(),
                is_living,
            })
        };
        let (held, lost) = (
            Err(StoreError::Held { debate, by: by() }),
            Err(StoreError::Lost { debate, by: by() }),
        );
        let gone = Err(StoreError::Lost {
            debate,
            by: "another process, which has let go of it since".to_owned(),
        });
        // The lease, then what comes of: take, hold, release, keep, and a removal.
        let rows = [
            (None, [Ok(()), gone, Ok(()), Ok(()), Ok(())]),
            (lease(me, true), [Ok(()), Ok(()), Ok(()), Ok(()), Ok(())]),
            (lease(me, false), [Ok(()), Ok(()), Ok(()), Ok(()), Ok(())]),
            (
                lease(other, true),
                [held.clone(), lost.clone(), lost.clone(), Ok(()), held],
            ),
            (lease(other, false), [Ok(()), lost, Ok(()), Ok(()), Ok(())]),
        ];
        let append = |claim| {
            Work::Append(Append {
                claim,
                ..Append::new(debate, 0, Hash::default())
            })
        };
        for (claim, expected) in rows {
            let works = [
                append(Claim::Take),
                append(Claim::Hold),
                append(Claim::Release),
                append(Claim::Keep),
                Work::Remove(debate),
            ];
            let answers = works.map(|work| {
                let fact = Fact {
                    kept: true,
                    claim: claim.clone(),
                    ..Fact::default()
                };
                Facts::new([(debate, fact)]).decide(&[work], me).remove(0)
            });
            assert_eq!(answers, expected, "{claim:?}");
        }
    }

    #[test]
    fn works_of_a_batch_see_those_before_them() {
        let debate = DebateId::new();
        let append = |after, claim| {
            Work::Append(Append {
                claim,
                ..Append::new(debate, after, Hash::default())
            })
        };
        let works = [
            append(0, Claim::Hold),
            append(0, Claim::Take),
            append(0, Claim::Hold),
            Work::Remove(debate),
            Work::Remove(debate),
        ];
        let answers = Facts::default().decide(&works, Uuid::from_u128(1));
        assert!(
            matches!(
                answers[..],
                [
                    Err(StoreError::Lost { .. }),
                    Ok(()),
                    Ok(()),
                    Ok(()),
                    Err(StoreError::NotFound(_))
                ]
            ),
            "{answers:?}"
        );
    }
}
