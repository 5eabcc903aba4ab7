//! Lists of words and patterns that take megabytes once they are compiled, and are freed while no text is scanned.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

/// A list of words or patterns, compiled when a text is scanned and not before, and once more after it was freed.
pub(super) struct CompiledList<T> {
    read: fn() -> T,
    loaded: Mutex<LoadedList<T>>,
}

struct LoadedList<T> {
    list: Option<Arc<T>>,
    /// True if the list was asked for since unused lists were freed last.
    is_used: bool,
}

impl<T> CompiledList<T> {
    pub(super) const fn new(read: fn() -> T) -> Self {
        Self { read, loaded: Mutex::new(LoadedList { list: None, is_used: false }) }
    }

    pub(super) fn get(&self) -> Arc<T> {
        let mut loaded = self.loaded.lock();
        loaded.is_used = true;
        Arc::clone(loaded.list.get_or_insert_with(|| Arc::new((self.read)())))
    }

    /// Frees the list if nobody asked for it since this was called last. Texts that are being scanned keep theirs.
    pub(super) fn free_unused(&self) {
        let mut loaded = self.loaded.lock();
        if !mem::take(&mut loaded.is_used) {
            loaded.list = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_freed_when_it_was_not_used_and_read_again_when_it_is() {
        let list = CompiledList::new(|| vec!["word"]);
        let in_use = list.get();
        list.free_unused();
        assert!(Arc::ptr_eq(&in_use, &list.get()), "it was used before");
        list.free_unused();
        list.free_unused();
        assert_eq!(Arc::strong_count(&in_use), 1, "only the text that is scanned has it");
        assert!(!Arc::ptr_eq(&in_use, &list.get()) && list.get() == in_use);
    }
}
