use std::io::Write as _;

use mgp_types::json::write_string;
use mgp_types::{Object, RawJson};

/// The details of an event, written once into one buffer: each call makes some.
#[derive(Debug)]
pub(super) struct EventDetails(Vec<u8>);

impl EventDetails {
    pub(super) fn new() -> Self {
        let mut out = Vec::with_capacity(192);
        out.push(b'{');
        Self(out)
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        write_string(&mut self.0, text);
    }

    pub(super) fn texts<'a>(&mut self, name: &str, texts: impl Iterator<Item = &'a str>) {
        self.name(name);
        self.0.push(b'[');
        for (index, text) in texts.enumerate() {
            if index > 0 {
                self.0.push(b',');
            }
            write_string(&mut self.0, text);
        }
        self.0.push(b']');
    }

    pub(super) fn number(&mut self, name: &str, number: u64) {
        self.name(name);
        let _ = write!(self.0, "{number}");
    }

    pub(super) fn signed(&mut self, name: &str, number: i64) {
        self.name(name);
        let _ = write!(self.0, "{number}");
    }

    pub(super) fn flag(&mut self, name: &str) {
        self.name(name);
        self.0.extend_from_slice(b"true");
    }

    pub(super) fn json(&mut self, name: &str, value: &RawJson) {
        self.name(name);
        self.0.extend_from_slice(value.as_bytes());
    }

    pub(super) fn finish(mut self) -> Object {
        self.0.push(b'}');
        // Each name is written once here, so the scan finds nothing to refuse.
        Object::parse(self.0).unwrap_or_default()
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_string(&mut self.0, name);
        self.0.push(b':');
    }
}
