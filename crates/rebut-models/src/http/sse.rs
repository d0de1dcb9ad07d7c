//! Server-sent events out of a byte stream, however it is cut.

/// Cuts a byte stream into the data of its events. Comments and other fields are passed over.
#[derive(Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    /// Where the first line not yet looked at begins.
    start: usize,
    /// How far a line's end was looked for.
    searched: usize,
    data: Option<String>,
    is_error: bool,
}

#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub data: String,
    pub is_error: bool,
}

impl Events {
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        &mut self.bytes
    }

    /// Bytes held for an event that is not complete.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.start + self.data.as_ref().map_or(0, String::len)
    }

    pub fn next(&mut self) -> Option<Event> {
        while let Some(length) = self.bytes[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n')
        {
            let end = self.searched + length;
            let line = &self.bytes[self.start..end];
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            self.start = end + 1;
            self.searched = self.start;
            if let Some(data) = line.strip_prefix("data:") {
                let data = data.strip_prefix(' ').unwrap_or(data);
                match &mut self.data {
                    None => self.data = Some(data.to_owned()),
                    Some(before) => {
                        before.push('\n');
                        before.push_str(data);
                    }
                }
            } else if let Some(name) = line.strip_prefix("event:") {
                self.is_error = name.trim() == "error";
            } else if line.is_empty() {
                let is_error = std::mem::take(&mut self.is_error);
                if let Some(data) = self.data.take().filter(|data| !data.trim().is_empty()) {
                    return Some(Event { data, is_error });
                }
            }
        }
        self.searched = self.bytes.len();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream = ": hello\r\ndata: {\"é\":1}\r\n\r\nevent: error\r\ndata:a\ndata: \
            b\n\n\ndata:\n\ndata: [DONE]\n\ndata: never ended";
        for size in 1..=stream.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                events.buffer().extend_from_slice(chunk);
                found.extend(std::iter::from_fn(|| events.next()));
            }
            let found: Vec<_> = found
                .iter()
                .map(|event: &Event| (event.data.as_str(), event.is_error))
                .collect();
            assert_eq!(
                found,
                [("{\"é\":1}", false), ("a\nb", true), ("[DONE]", false)],
                "pieces of {size}"
            );
        }
    }
}
