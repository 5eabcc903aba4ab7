//! The demo's notes server.

use std::sync::Arc;

use mgp_server_sdk::{Server, Tool, ToolError};
use parking_lot::Mutex;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    /// What the note says.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    /// The number of the note.
    number: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoteQuery {
    /// A word of the note.
    query: String,
}

/// The notes, numbered from one; one that was removed leaves its number.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<Mutex<Vec<Option<String>>>>);

impl Notes {
    fn add(&self, text: String) -> Result<String, ToolError> {
        let mut notes = self.0.lock();
        if notes.len() >= MOST || text.len() > LONGEST {
            return Err(ToolError::new("there is no room for the note"));
        }
        notes.push(Some(text));
        Ok(format!("note {}", notes.len()))
    }

    fn read(&self, number: usize) -> Result<String, ToolError> {
        let notes = self.0.lock();
        number.checked_sub(1).and_then(|place| notes.get(place)?.clone()).ok_or_else(|| missing(number))
    }

    fn remove(&self, number: usize) -> Result<&'static str, ToolError> {
        let mut notes = self.0.lock();
        let note = number.checked_sub(1).and_then(|place| notes.get_mut(place));
        note.and_then(Option::take).map(|_| "removed").ok_or_else(|| missing(number))
    }

    /// Returns the notes in which the word stands, in any case.
    fn with(&self, word: &str) -> String {
        let word = word.to_lowercase();
        let notes = self.0.lock();
        let found = (1..).zip(notes.iter()).filter_map(|(number, note)| Some((number, note.as_ref()?)));
        let found = found.filter(|(_, note)| note.to_lowercase().contains(&word));
        found.map(|(number, note)| format!("{number}: {note}\n")).collect::<Vec<_>>().concat()
    }
}

pub(super) fn server() -> Server {
    let notes = Notes::default();
    let on = |notes: &Notes| notes.clone();
    let (add, read, remove, search, list) = (on(&notes), on(&notes), on(&notes), on(&notes), on(&notes));
    Server::new("notes", "1.0.0")
        .tool(Tool::new("add_note", "Writes down a note."), move |Text { text }: Text| {
            std::future::ready(add.add(text))
        })
        .tool(Tool::new("read_note", "Shows one note.").read_only(), move |Number { number }: Number| {
            std::future::ready(read.read(number))
        })
        .tool(Tool::new("remove_note", "Throws a note away."), move |Number { number }: Number| {
            std::future::ready(remove.remove(number))
        })
        .tool(
            Tool::new("search_notes", "Finds notes by a word.").read_only(),
            move |NoteQuery { query }: NoteQuery| std::future::ready(search.with(&query)),
        )
        .tool(Tool::new("list_notes", "Shows all notes.").read_only(), move || {
            std::future::ready(list.with(""))
        })
}

fn missing(number: usize) -> ToolError {
    ToolError::new(format!("there is no note {number}"))
}

const MOST: usize = 1_000;
const LONGEST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_note_leaves_its_number() {
        let notes = Notes::default();
        notes.add("buy Milk".into()).unwrap();
        notes.add("call Ada".into()).unwrap();
        notes.remove(1).unwrap();
        assert!(notes.read(1).is_err() && notes.read(0).is_err() && notes.remove(1).is_err());
        assert_eq!(notes.read(2).unwrap(), "call Ada");
        assert_eq!((notes.with("ADA"), notes.with("milk")), ("2: call Ada\n".into(), String::new()));
    }
}
