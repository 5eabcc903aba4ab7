use std::borrow::Cow;

use super::*;
use crate::slot::Slot;
use crate::text::Words;
use crate::tool::ToolText;

pub(super) fn tool<'a>(name: &'a str, description: &'a str) -> ToolText<'a> {
    ToolText {
        name: name.into(),
        title: "".into(),
        description: description.into(),
        parameters: Vec::new(),
        server: "server".into(),
        server_description: "".into(),
        keywords: Cow::Borrowed(&[]),
        categories: Vec::new(),
    }
}

#[test]
fn many_changes_lose_and_double_nothing() {
    let mut writer = KeywordWriter::new().unwrap();
    let put = |writer: &mut KeywordWriter, slot: u32, what: u32| {
        writer.put(Slot(slot), &tool("anything", &format!("common word{what}"))).unwrap();
    };
    for slot in 0..300 {
        put(&mut writer, slot, slot);
    }
    let words = Words::of("common");
    for change in 0..120u32 {
        put(&mut writer, change * 7 % 40, 1000 + change);
        let reader = writer.commit().unwrap();
        let found = reader.ask(&words).best(1000, &mut |_| true);
        assert_eq!(found.len(), 300, "after {change} changes: {reader:?}");
    }
}
