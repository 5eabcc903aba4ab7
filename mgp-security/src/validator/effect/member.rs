use mgp_types::words;

use super::list;

/// A list in `effects.txt` of words in names of members.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberList {
    Destroys,
    GivesAccess,
    Hides,
    Invites,
    Purchase,
    Forwards,
    WhoSees,
    Chooses,
    DestroysAtZero,
    Mount,
    Destination,
    Source,
}

impl MemberList {
    const ALL: [(Self, &str); 12] = [
        (Self::Destroys, "flag that destroys"),
        (Self::GivesAccess, "flag that gives access"),
        (Self::Hides, "flag that hides"),
        (Self::Invites, "member that invites"),
        (Self::Purchase, "member of a purchase"),
        (Self::Forwards, "member that forwards"),
        (Self::WhoSees, "member of who sees"),
        (Self::Chooses, "member that chooses"),
        (Self::DestroysAtZero, "count that destroys at zero"),
        (Self::Mount, "mount"),
        (Self::Destination, "destination of a file"),
        (Self::Source, "source of a file"),
    ];
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
            MemberList::ALL.iter().filter(|(kind, heading)| list(heading).any(|word| has(*kind, word)));
        Self(lists.fold(0, |bits, (kind, _)| bits | 1 << *kind as u16))
    }

    pub(super) const fn has(self, list: MemberList) -> bool {
        self.0 & 1 << list as u16 != 0
    }
}
