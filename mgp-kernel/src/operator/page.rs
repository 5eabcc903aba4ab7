//! Pages of lists, which are never sent whole.

use serde::{Deserialize, Serialize};

/// The largest number of items in a page.
pub(crate) const MOST: u32 = 1_000;

/// The part of a list that is asked for. Lists are never sent whole: there is no bound on how long they grow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PageRequest {
    /// The number of items before the page.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) offset: u64,
    /// The largest number of items in the page; never more than 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u32>,
}

impl PageRequest {
    /// Returns the items of this page, and the offset of the next page if there is one.
    pub(crate) fn of<T>(&self, all: impl IntoIterator<Item = T>) -> (Vec<T>, Option<u64>) {
        let limit = self.limit.unwrap_or(MOST).clamp(1, MOST);
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let mut rest = all.into_iter().skip(offset);
        let items: Vec<T> = rest.by_ref().take(limit as usize).collect();
        let next = rest.next().map(|_| self.offset.saturating_add(u64::from(limit)));
        (items, next)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_in_pages_that_say_where_to_go_on() {
        let page = |offset, limit| PageRequest { offset, limit: Some(limit) }.of(0..5);
        assert_eq!(page(0, 2), (vec![0, 1], Some(2)));
        assert_eq!(page(2, 2), (vec![2, 3], Some(4)));
        assert_eq!(page(4, 2), (vec![4], None));
        assert_eq!(page(9, 2), (vec![], None));
        assert_eq!(page(0, 5), (vec![0, 1, 2, 3, 4], None));
        assert_eq!(PageRequest { offset: u64::MAX, limit: Some(0) }.of(0..5), (vec![], None));
    }
}
