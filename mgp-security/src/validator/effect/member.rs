//! Members among the arguments of calls: what their names tell, and their values for such names.

use mgp_types::mgp::CallEffect;
use mgp_types::words;

use super::first;
use crate::named::{Named as _, named};
use crate::tool::{is_listed, list, stems};

named! {
    /// A list in `effects.txt` of words in names of members.
    #[derive(PartialOrd, Ord)]
    pub(super) enum MemberList {
        "flag that destroys" => Destroys,
        "flag that gives access" => GivesAccess,
        "flag that hides" => Hides,
        "flag that sends" => Sends,
        "flag that reveals" => Reveals,
        "member that invites" => Invites,
        "member of a purchase" => Purchase,
        "member that forwards" => Forwards,
        "member of who sees" => WhoSees,
        "member that chooses" => Chooses,
        "member of a kind" => Kind,
        "member of a place" => Place,
        "member of what is replaced" => Replaced,
        "count that destroys at zero" => DestroysAtZero,
        "mount" => Mount,
        "destination of a file" => Destination,
        "source of a file" => Source,
        "patch" => Patch,
        "member of a conversation" => Conversation,
        "member of a message" => Message,
        "member of a variable" => Variable,
        "member of what is destroyed" => Destroyed,
        "flag of a trial" => Trial,
        "flag of a draft" => Draft,
    }
}

/// The lists that a name stands in, with all or with one of its words. Names of declared arguments are looked up once,
/// when a tool is prepared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemberLists(u32);

impl MemberLists {
    pub(super) fn of(name: &str) -> Self {
        let words = words(name);
        let whole = words.concat();
        let has = |kind: MemberList, word: &str| {
            let from = match kind {
                // What is chosen is named last: `mode`, but not `mode_of_transport`.
                MemberList::Chooses => words.len().saturating_sub(1),
                // These mean something else in longer names.
                kind if kind >= MemberList::Conversation => words.len(),
                _ => 0,
            };
            word == whole || words[from..].iter().any(|one| one == word)
        };
        let lists =
            MemberList::NAMES.iter().filter(|(heading, kind)| list(heading).any(|word| has(*kind, word)));
        Self(lists.fold(0, |bits, (_, kind)| bits | 1 << *kind as u16))
    }

    pub(super) const fn has(self, list: MemberList) -> bool {
        self.0 & 1 << list as u16 != 0
    }
}

/// A member of an object among the arguments: its name, and the lists in which the name stands.
#[derive(Default)]
pub(super) struct Member<'n> {
    pub(super) name: &'n str,
    pub(super) lists: MemberLists,
}

/// Returns the effect of a member that says who pays, who sees something, or to whom it goes on.
pub(super) fn of_member(lists: MemberLists, text: &str) -> CallEffect {
    let is_everybody = || words(text).iter().any(|word| is_listed("choice of everybody", word));
    let is_choice = text.len() <= MAX_CHOICE_BYTES;
    let is_nothing = || ["", "none", "false", "no"].iter().any(|nothing| text.eq_ignore_ascii_case(nothing));
    if (lists.has(MemberList::Forwards) && text.contains('@'))
        || (is_choice && lists.has(MemberList::WhoSees) && is_everybody())
    {
        CallEffect::GivesAccess
    } else if lists.has(MemberList::Purchase) && !text.is_empty() {
        CallEffect::Spends
    } else if lists.has(MemberList::DestroysAtZero) && (text == "0" || text.ends_with("=0"))
        || lists.has(MemberList::Place) && is_listed("place that destroys", &words(text).concat())
    {
        CallEffect::Destroys
    } else if lists.has(MemberList::Invites) && text.contains('@')
        || lists.has(MemberList::Sends) && is_choice && !is_nothing()
    {
        CallEffect::Sends
    } else {
        CallEffect::Reads
    }
}

/// Returns the effect that is chosen by the value of a member like `operation`.
pub(super) fn chosen(lists: MemberLists, text: &str) -> CallEffect {
    if text.len() > MAX_CHOICE_BYTES || !lists.has(MemberList::Chooses) {
        return CallEffect::Reads;
    }
    let words = words(text);
    let choices = [
        (CallEffect::GivesAccess, "choice that gives access"),
        (CallEffect::Destroys, "choice that destroys"),
        (CallEffect::Sends, "choice that sends"),
    ];
    let is_in = |heading| words.iter().any(|word| stems(word).any(|stem| is_listed(heading, &stem)));
    first(&choices, is_in).unwrap_or(CallEffect::Reads)
}

/// The length of the longest text that is read as a choice between operations.
pub(super) const MAX_CHOICE_BYTES: usize = 40;
