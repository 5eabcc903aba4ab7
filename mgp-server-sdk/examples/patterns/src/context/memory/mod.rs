//! The memory: texts that are kept, and found again by what they mean.

mod file;
mod tools;

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use mgp_toolindex::embed::StaticEmbedder;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use self::file::MemoryFile;
pub(super) use self::tools::{recall_memory, store_memory};

/// The texts that are kept, the oldest first. When there are too many, the oldest are forgotten.
pub(super) struct Memory {
    kept: Mutex<KeptMemories>,
    embedder: StaticEmbedder,
}

struct KeptMemories {
    memories: VecDeque<Memorized>,
    /// The file in which they outlive this process, if there is one.
    file: Option<MemoryFile>,
}

/// A text that is kept, with its meaning.
struct Memorized {
    entry: MemoryEntry,
    vector: Option<Vec<f32>>,
}

/// A text that is kept.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct MemoryEntry {
    pub(super) id: String,
    pub(super) stored_at: Timestamp,
    pub(super) content: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
}

/// What was kept, and what was forgotten for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) memories: usize,
    pub(super) forgotten: usize,
}

impl Memory {
    /// Opens a memory: that of a file, or one that ends with the process.
    ///
    /// # Errors
    /// The file cannot be read, is no memory, or another process has it open.
    pub(super) fn open(file: Option<&Path>) -> io::Result<Self> {
        let embedder = StaticEmbedder::new();
        let (entries, file) = match file {
            Some(path) => MemoryFile::open(path).map(|(entries, file)| (entries, Some(file)))?,
            None => (Vec::new(), None),
        };
        let (mut seen, mut memories) = (HashSet::new(), VecDeque::new());
        // A text that was kept again stands where it was kept last.
        let newest_first =
            entries.into_iter().rev().filter(|entry: &MemoryEntry| seen.insert(entry.id.clone()));
        for entry in newest_first.take(MAX_MEMORIES) {
            memories.push_front(Memorized { vector: embedder.vector(&entry.content), entry });
        }
        Ok(Self { kept: Mutex::new(KeptMemories { memories, file }), embedder })
    }

    /// Keeps a text. A text that is there already is kept once, with the new tags.
    ///
    /// # Errors
    /// The file cannot be written; then the text is not kept.
    pub(super) fn store(&self, content: String, tags: Vec<String>) -> io::Result<Stored> {
        let entry = MemoryEntry { id: id_of(&content), stored_at: Timestamp::now(), content, tags };
        let vector = self.embedder.vector(&entry.content);
        let kept = &mut *self.kept.lock();
        if let Some(file) = &mut kept.file {
            file.append(&entry)?;
        }
        let id = entry.id.clone();
        kept.memories.retain(|kept| kept.entry.id != id);
        kept.memories.push_back(Memorized { entry, vector });
        let forgotten = kept.memories.len().saturating_sub(MAX_MEMORIES);
        kept.memories.drain(..forgotten);
        if let Some(file) = &mut kept.file
            && file.lines() > 2 * MAX_MEMORIES
        {
            file.rewrite(kept.memories.iter().map(|kept| &kept.entry))?;
        }
        Ok(Stored { id, memories: kept.memories.len(), forgotten })
    }

    /// Returns the memories that are likest to a need in words, with their relevance from 0 to 1. A memory has to have
    /// all of the `tags`.
    pub(super) fn recall(&self, query: &str, tags: &[String], most: usize) -> Vec<(f32, MemoryEntry)> {
        let vector = self.embedder.vector(query);
        let words = words(query);
        let kept = self.kept.lock();
        let tagged = kept.memories.iter().filter(|kept| tags.iter().all(|tag| kept.entry.tags.contains(tag)));
        let mut found: Vec<(f32, &Memorized)> = tagged
            .map(|kept| (relevance(vector.as_deref(), &words, kept), kept))
            .filter(|(relevance, _)| *relevance >= LEAST_RELEVANCE)
            .collect();
        // Of two that are as relevant, the newer comes first.
        found.reverse();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(most);
        found.into_iter().map(|(relevance, kept)| (relevance, kept.entry.clone())).collect()
    }
}

/// Returns the likeness in meaning and the share of words that are the same, together.
fn relevance(query: Option<&[f32]>, words: &[String], kept: &Memorized) -> f32 {
    let likeness = match (query, &kept.vector) {
        (Some(query), Some(vector)) => query.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>().max(0.0),
        _ => 0.0,
    };
    let there = self::words(&kept.entry.content);
    let same = words.iter().filter(|word| there.contains(word)).count();
    #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
    let share = if words.is_empty() { 0.0 } else { same as f32 / words.len() as f32 };
    (OF_MEANING * likeness + (1.0 - OF_MEANING) * share).min(1.0)
}

/// Returns the words of a text in small letters, without those of one or two letters.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}

/// Returns the id of a text: the beginning of its digest.
fn id_of(content: &str) -> String {
    Sha256::digest(content.as_bytes())[..8].iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// The most texts that are kept.
pub(super) const MAX_MEMORIES: usize = 10_000;

/// The most bytes of one text.
pub(super) const LONGEST_MEMORY: usize = 16 << 10;

const OF_MEANING: f32 = 0.7;
const LEAST_RELEVANCE: f32 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(found: &[(f32, MemoryEntry)]) -> Vec<&str> {
        found.iter().map(|(_, entry)| &*entry.content).collect()
    }

    fn store(memory: &Memory, content: &str, tags: &[&str]) -> Stored {
        memory.store(content.to_owned(), tags.iter().map(|&tag| tag.to_owned()).collect()).unwrap()
    }

    // covers: P-2-09
    #[test]
    fn a_memory_is_found_by_what_it_means() {
        let memory = Memory::open(None).unwrap();
        store(&memory, "The database runs out of disk space every Monday.", &["ops"]);
        store(&memory, "Ada prefers to be sent an e-mail.", &["people"]);
        let found = memory.recall("how do I contact somebody by mail", &[], 5);
        assert_eq!(contents(&found)[0], "Ada prefers to be sent an e-mail.");
        let found = memory.recall("storage is full", &[], 1);
        assert_eq!(contents(&found), ["The database runs out of disk space every Monday."]);
        let found = memory.recall("storage is full", &["people".to_owned()], 5);
        assert!(!contents(&found).contains(&"The database runs out of disk space every Monday."));
    }

    // covers: P-2-08
    #[test]
    fn memories_outlive_the_process_and_a_text_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.jsonl");
        let memory = Memory::open(Some(&file)).unwrap();
        let first = store(&memory, "one two three", &[]);
        store(&memory, "four five six", &["b"]);
        let again = store(&memory, "one two three", &["a"]);
        assert_eq!((again.id, again.memories), (first.id, 2));
        assert!(Memory::open(Some(&file)).is_err(), "two processes would lose what the other keeps");
        drop(memory);
        let memory = Memory::open(Some(&file)).unwrap();
        let found = memory.recall("one two three", &["a".to_owned()], 5);
        assert_eq!(contents(&found), ["one two three"]);
    }

    // covers: P-2-08
    #[test]
    fn the_oldest_memories_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.jsonl");
        let memory = Memory::open(Some(&file)).unwrap();
        for number in 0..MAX_MEMORIES {
            store(&memory, &format!("number{number}"), &[]);
        }
        let stored = store(&memory, "the last one", &[]);
        assert_eq!((stored.memories, stored.forgotten), (MAX_MEMORIES, 1));
        assert!(contents(&memory.recall("number0", &[], 50)).iter().all(|content| *content != "number0"));
        for number in 0..MAX_MEMORIES {
            store(&memory, &format!("more{number}"), &[]);
        }
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 2 * MAX_MEMORIES, "{lines}");
        drop(memory);
        assert_eq!(Memory::open(Some(&file)).unwrap().kept.lock().memories.len(), MAX_MEMORIES);
    }

    #[test]
    fn a_file_that_is_no_memory_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        std::fs::write(&file, "my notes\n").unwrap();
        let error = Memory::open(Some(&file)).err().unwrap().to_string();
        assert!(error.contains("line 1"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "my notes\n");
    }

    #[test]
    fn a_line_that_a_crash_cut_off_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.jsonl");
        let memory = Memory::open(Some(&file)).unwrap();
        store(&memory, "one two three", &[]);
        drop(memory);
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str(r#"{"id":"x","stored_at":"20"#);
        std::fs::write(&file, text).unwrap();
        let memory = Memory::open(Some(&file)).unwrap();
        store(&memory, "four five six", &[]);
        drop(memory);
        let memory = Memory::open(Some(&file)).unwrap();
        assert_eq!(memory.kept.lock().memories.len(), 2);
    }
}
