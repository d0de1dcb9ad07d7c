//! A whole journal as one file: a heading, then one event a line, byte for byte as it is stored.

use crate::{
    DebateId,
    record::{Hash, Record, decode_hex, encode_hex},
    seal::Checkpoint,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A journal on its way to or from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Portable {
    pub debate: DebateId,
    pub records: Vec<Record>,
    pub checkpoints: Vec<Checkpoint>,
}

/// Why a file is not a journal.
#[derive(Debug, thiserror::Error)]
pub enum PortableError {
    /// The first line is not the heading.
    #[error("not a rebut journal: its first line should be {{\"rebut\":\"journal\",…}}")]
    NoHeading,
    /// A newer program wrote it.
    #[error("journal version {0} is newer than this program knows")]
    Newer(u32),
    /// A line cannot be read.
    #[error("line {line}: {problem}")]
    Line {
        /// Which.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Lines are missing or too many.
    #[error("the heading announces {announced} events, the file has {found}")]
    Count {
        /// By the heading.
        announced: u64,
        /// In the file.
        found: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct Heading {
    rebut: String,
    v: u32,
    debate_id: DebateId,
    events: u64,
    checkpoints: Vec<Checkpoint>,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    v: u32,
    seq: u64,
    #[serde(borrow)]
    ts: Cow<'a, str>,
    debate_id: DebateId,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    round: Option<u32>,
    #[serde(borrow)]
    phase: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: &'a RawValue,
    salt: Option<String>,
    digest: Hash,
    prev: Hash,
    hash: Hash,
}

impl Portable {
    pub fn to_ndjson(&self) -> Result<String, serde_json::Error> {
        let heading = Heading {
            rebut: "journal".to_owned(),
            v: 1,
            debate_id: self.debate,
            events: self.records.len() as u64,
            checkpoints: self.checkpoints.clone(),
        };
        let mut text = serde_json::to_string(&heading)?;
        for record in &self.records {
            text.push('\n');
            text.push_str(&serde_json::to_string(&Line {
                v: 1,
                seq: record.seq,
                ts: Cow::Borrowed(&record.ts),
                debate_id: record.debate,
                kind: Cow::Borrowed(&record.kind),
                round: record.round,
                phase: record.phase.as_deref().map(Cow::Borrowed),
                agent: record.agent.as_deref().map(Cow::Borrowed),
                data: serde_json::from_str(&record.data)?,
                salt: record.salt.map(|salt| encode_hex(&salt)),
                digest: record.digest,
                prev: record.prev,
                hash: record.hash,
            })?);
        }
        text.push('\n');
        Ok(text)
    }

    /// Reads a file's text. Whether the chain holds is for [`crate::audit::verify`] to say.
    pub fn parse(text: &str) -> Result<Self, PortableError> {
        let (file, announced) = Self::parse_uncounted(text)?;
        let found = file.records.len() as u64;
        if found == announced {
            Ok(file)
        } else {
            Err(PortableError::Count { announced, found })
        }
    }

    /// The same for a file that may have lost lines, with the number of events its heading
    /// announces: for [`crate::audit::verify_file`], which says where.
    pub fn parse_uncounted(text: &str) -> Result<(Self, u64), PortableError> {
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or(PortableError::NoHeading)?;
        let heading: Heading = serde_json::from_str(first).map_err(|_| PortableError::NoHeading)?;
        if heading.rebut != "journal" {
            return Err(PortableError::NoHeading);
        }
        if heading.v > 1 {
            return Err(PortableError::Newer(heading.v));
        }
        let records: Vec<Record> = lines
            .map(|(number, line)| {
                parse_line(line).map_err(|problem| PortableError::Line {
                    line: number + 1,
                    problem,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok((
            Self {
                debate: heading.debate_id,
                records,
                checkpoints: heading.checkpoints,
            },
            heading.events,
        ))
    }
}

fn parse_line(line: &str) -> Result<Record, String> {
    let line: Line<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let salt = line
        .salt
        .map(|salt| decode_hex(&salt).ok_or("the salt is not 32 hexadecimal digits"))
        .transpose()?;
    Ok(Record {
        debate: line.debate_id,
        seq: line.seq,
        ts: line.ts.into(),
        kind: Cow::Owned(line.kind.into_owned()),
        round: line.round,
        phase: line.phase.map(|text| text.as_ref().into()),
        agent: line.agent.map(|text| text.as_ref().into()),
        data: line.data.get().to_owned(),
        salt,
        digest: line.digest,
        prev: line.prev,
        hash: line.hash,
    })
}
