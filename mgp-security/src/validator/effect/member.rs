use mgp_types::words;

use super::list;
use crate::data_file::{Named as _, named};

named! {
    /// A list in `effects.txt` of words in names of members.
    pub(super) enum MemberList {
        "flag that destroys" => Destroys,
        "flag that gives access" => GivesAccess,
        "flag that hides" => Hides,
        "member that invites" => Invites,
        "member of a purchase" => Purchase,
        "member that forwards" => Forwards,
        "member of who sees" => WhoSees,
        "member that chooses" => Chooses,
        "count that destroys at zero" => DestroysAtZero,
        "mount" => Mount,
        "destination of a file" => Destination,
        "source of a file" => Source,
    }
}

/// The lists that a name stands in, with all or with one of its words. Names of declared arguments are looked up once,
/// when a tool is prepared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemberLists(u16);

impl MemberLists {
    pub(super) fn of(name: &str) -> Self {
        let words = words(name);
        let whole = words.concat();
        let has = |kind: MemberList, word: &str| {
            // What is chosen is named last: `mode`, but not `mode_of_transport`.
            let words = if matches!(kind, MemberList::Chooses) {
                &words[words.len().saturating_sub(1)..]
            } else {
                &words
            };
            word == whole || words.iter().any(|one| one == word)
        };
        let lists =
            MemberList::NAMES.iter().filter(|(heading, kind)| list(heading).any(|word| has(*kind, word)));
        Self(lists.fold(0, |bits, (_, kind)| bits | 1 << *kind as u16))
    }

    pub(super) const fn has(self, list: MemberList) -> bool {
        self.0 & 1 << list as u16 != 0
    }
}
