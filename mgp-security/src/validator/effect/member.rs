//! Members among the arguments of calls: what their names tell, and their values for such names.

use std::collections::HashMap;
use std::sync::LazyLock;

use mgp_types::mgp::CallEffect;
use mgp_types::words;

use super::first;
use crate::named::{Named as _, named};
use crate::tool::{is_listed, list, stems};

named! {
    /// A list in `effects.txt` of words in names of members.
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
        "member that tells the verb" => TellsVerb,
        "name of command" => Command,
        "name of a setting" => SettingName,
        "value of a setting" => SettingValue,
        "member of further words" => FurtherWords,
        "member of an endpoint" => Endpoint,
    }
}

/// The lists that a name stands in, with all or with one of its words. Names of declared arguments are looked up once,
/// when a tool is prepared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemberLists(u32);

impl MemberLists {
    pub(super) fn of(name: &str) -> Self {
        let words = words(name);
        let lists = |word: &str| LISTS_BY_WORD.get(word).copied().unwrap_or_default();
        let of_words = words.iter().rev().enumerate().map(|(at, word)| {
            // What is chosen is named last: `mode`, but not `mode_of_transport`.
            let is_elsewhere = if at == 0 { 0 } else { 1 << MemberList::Chooses as u32 };
            lists(word) & !(OF_WHOLE_NAMES | is_elsewhere)
        });
        Self(of_words.fold(lists(&words.concat()), |all, of_word| all | of_word))
    }

    pub(super) const fn has(self, list: MemberList) -> bool {
        self.0 & 1 << list as u32 != 0
    }
}

/// The lists of words that mean something else in longer names.
const OF_WHOLE_NAMES: u32 = !0 << MemberList::Conversation as u32;

/// The lists in which a word stands, each a bit.
static LISTS_BY_WORD: LazyLock<HashMap<&str, u32, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let mut by_word = HashMap::<_, u32, _>::default();
    for (heading, kind) in MemberList::NAMES {
        list(heading).for_each(|word| *by_word.entry(word).or_default() |= 1 << *kind as u32);
    }
    by_word
});

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
