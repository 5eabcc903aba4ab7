use std::sync::OnceLock;

use mgp_types::RawJson;
use mgp_types::mgp::NameStyle;

/// A list as it stands in a result, written when it is first asked for: most clients never ask for all tools.
#[derive(Debug, Default)]
pub(super) struct List(OnceLock<RawJson>);

impl List {
    /// `{"member":[...]}`, with what `items` tells on the first call.
    ///
    /// Two who ask first at the same time both write it, so that neither waits.
    pub(super) fn get(&self, member: &str, items: impl Iterator<Item = RawJson>) -> RawJson {
        if let Some(written) = self.0.get() {
            return written.clone();
        }
        let written = write(member, items);
        let _ = self.0.set(written.clone());
        written
    }
}

/// A list of what has names, in the two styles that most clients have.
#[derive(Debug, Default)]
pub(super) struct NamedList {
    dots: List,
    underscores: List,
}

impl NamedList {
    /// `{"member":[...]}`, with what `items` tells.
    pub(super) fn get(
        &self,
        style: NameStyle,
        member: &str,
        items: impl Iterator<Item = RawJson>,
    ) -> RawJson {
        match style {
            NameStyle::DOTS => self.dots.get(member, items),
            NameStyle::UNDERSCORES => self.underscores.get(member, items),
            _ => write(member, items),
        }
    }
}

fn write(member: &str, items: impl Iterator<Item = RawJson>) -> RawJson {
    let items: Vec<_> = items.collect();
    let size: usize = items.iter().map(|item| item.as_bytes().len() + 1).sum();
    let mut out = Vec::with_capacity(size + member.len() + 6);
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":[");
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_bytes());
    }
    out.extend_from_slice(b"]}");
    RawJson::from_written(out)
}
