//! Orders to do what an assistant does for its user: pay, send, delete, share, book.
//!
//! They are found by their grammar: a verb where a clause starts, and near behind it what it is done to.

use std::ops::Range;
use std::sync::LazyLock;

use super::atom::{Atom, Hit};
use super::pattern::Pattern;
use crate::definition::fold::Folded;

/// The orders in `folded`.
pub(super) fn deeds(folded: &Folded, hits: &mut Vec<Hit>) {
    for (kind, pattern) in &*ORDERS {
        for Range { start, end } in pattern.groups_iter(&folded.text) {
            let sentence = folded.sentence(start);
            hits.push(Hit { atom: Atom::Deed, start, end, sentence });
            if *kind != Kind::Program {
                hits.push(Hit { atom: Atom::Change, start, end, sentence });
            }
            if *kind == Kind::Affair {
                hits.push(Hit { atom: Atom::Affair, start, end, sentence });
            }
        }
    }
}

/// What an order is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Money, dates, travel, access, the home.
    Affair,
    /// Messages, files and what is said.
    Thing,
    /// Programs and tools.
    Program,
}

/// The orders, by what they are about.
static ORDERS: LazyLock<Vec<(Kind, Pattern)>> = LazyLock::new(|| {
    let order = |&(kind, verbs, things): &(Kind, &str, &str)| {
        let pattern = format!("{CLAUSE}((?:{verbs}) {GAP}(?:{things})(?-u:\\b))");
        (kind, Pattern::new(&pattern))
    };
    VERBS_AND_THINGS.iter().map(order).collect()
});

const VERBS_AND_THINGS: &[(Kind, &str, &str)] = &[
    (
        Kind::Affair,
        "send|make|transfer|wire|pay|set up|schedule|create|update|perform|initiate|submit|issue|move|withdraw|donate|deposit|refund|give|process|grant",
        "transactions?|payments?|transfers?|money|eur|euros?|usd|dollars?|gbp|chf|bitcoins?|btc|eth|standing order|savings|balance|funds|invoice|bill|rent|fee|order|refunds?",
    ),
    (
        Kind::Thing,
        "send|forward|email|e-mail|mail|write|reply|post|text|dm|message|resend|deliver|share|submit|upload|paste|report",
        "emails?|e-mails?|mails?|messages?|links?|files?|documents?|reports?|inbox|channels?|contacts?|codes?|invitations?|sms|mailbox|attachments?|passwords?|conversation|names|attached|slack|twitter|facebook|linkedin|instagram|wall|location|photos?|pictures?|address|calendar|invoices?|lists?|slack|keys?|tokens?|secrets|credentials|records|data|details|[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}\\.[a-z.]{2,40}|https?://[^ ]{1,80}",
    ),
    (
        Kind::Affair,
        "create|delete|cancel|reschedule|move|add|accept|decline|invite|remove|schedule|clear|postpone",
        "events?|appointments?|meetings?|calendar|invitations?|participants?|attendees?|calls? with",
    ),
    (
        Kind::Thing,
        "delete|remove|share|upload|move|copy|modify|edit|append|overwrite|wipe|erase|destroy|drop|publish|export|rename|download|push|make",
        "files?|folders?|director(?:y|ies)|drive|documents?|databases?|tables?|backups?|repositor(?:y|ies)|repos?|records|branch|emails?|mails?|disk|accounts?|history|logs?|it public(?:ly)?|public",
    ),
    (
        Kind::Affair,
        "change|reset|update|set|disable|remove|add|grant|give|create|unlock|revoke|approve|turn off|deactivate|enable|open|switch off|promote|escalate|assign|elevate",
        "passwords?|email address|phone number|two-factor|2fa|mfa|admin|administrators?|roles?|rights|privileges|full access|access to|access for|permissions?|permission requests?|ssh keys?|collaborators?|doors?|garage|cameras?|login alerts|notifications|moderation|alarm|firewall|logging|audit log|safety checks|antivirus|sudo|all scopes|recipient|home address|vault|transfer|payment",
    ),
    (
        Kind::Affair,
        "accept|decline|confirm|approve|mark|archive|kick|ban|remove|follow|unfollow|block",
        "requests?|mails?|emails?|messages|notifications|from the (?:channel|group|team|list)|from our [a-z]{3,12}|followers?",
    ),
    (
        Kind::Affair,
        "print|list|show|reveal|display|disclose|output|share|publish|give (?:me|him|her|them|us)|tell (?:me|him|her|them|us)",
        "credit card|passwords?|pin|bank details|personal data|location|phone number|social security|salary|medical",
    ),
    (
        Kind::Affair,
        "book|reserve|make|cancel|rebook",
        "hotel|reservations?|bookings?|flights?|rooms?|tables?|tickets?|trip|car|stay|taxi|cab|appointments?|subscriptions?|membership|orders?",
    ),
    (
        Kind::Affair,
        "buy|purchase|order|subscribe to|renew",
        "units?|items?|gift cards?|subscriptions?|tickets?|shares|stocks?|products?|plan|pieces|copies",
    ),
    (Kind::Affair, "invite", "[^ .]{2,20} (?:as|to|into) (?:a |the |my |our )?[^ .]{2,20}"),
    (
        Kind::Affair,
        "add|put|place|set|unsubscribe|subscribe|let|give|turn|switch|classify|rank|rate",
        "(?:as|to|in|into) (?:an? |my |the |our |your |his |her )?(?:friend|contacts?|collaborator|admin|cart|basket|shopping list|newsletters?)|from all|the device|top match|login alerts|notifications off|cameras? off|lights? off|door open|check out",
    ),
    (
        Kind::Affair,
        "go ahead with|proceed with|go on with|continue with|confirm|complete|finali[sz]e|approve",
        "purchase|order|payment|transfer|deletion|transaction|booking|subscription|pull request|merge",
    ),
    (
        Kind::Program,
        "run|execute|call|calling|invoke|invoking|running|use|fetch|download|install|visit|navigate to|go to|click|load|curl|wget|open",
        "commands?|buttons?|scripts?|the tools?|functions?|https?://[^ ]{1,80}|www\\.[^ ]{1,60}|shell|rm -rf|links?|website|pull request|[a-z][a-z0-9]*_[a-z0-9_]{2,40}",
    ),
    (
        Kind::Program,
        "look up|find|search|read|get|collect|retrieve|fetch|gather|take|list|summari[sz]e|extract|copy",
        "[^.]{3,90} and (?:then )?(?:send|post|forward|share|email|mail|upload|publish|text|paste|dm)(?: |s )?(?:it|them|that|the|all|everything|their|to)",
    ),
    (
        Kind::Thing,
        "say|state|claim|mention|conclude|tell (?:them|everyone|the user|the reader|him|her|people|[a-z]{3,10})|recommend|convince|advise|write|give|rate|promote",
        "absolutely|must|have to|excellent|best|perfect|gorgeous|official|10/10|positive|highest|sold out|expired|cancel+ed|bankrupt|false|untrue|five stars|worth a visit",
    ),
];

/// Where an order can start.
const CLAUSE: &str = r#"(?:^|[.:;!?>)\]*"'`,(|=-] ?|(?-u:\b)(?:please|kindly|must|should|shall|now|then|and|to|can you|could you|would you|immediately|first|also|you|instead|have|next|afterwards|just|will|simply|quickly|ahead and|silently|once|so|by|[a-z]{2,20}(?:ing|ion)) )"#;

/// What may stand between a verb and what it is done to.
const GAP: &str = "(?:[^ !?;:]{0,31}[^ .!?;:] ){0,7}?";

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(text: &str) -> usize {
        let mut hits = Vec::new();
        deeds(&Folded::new(text), &mut hits);
        hits.iter().filter(|hit| hit.atom == Atom::Deed).count()
    }

    #[test]
    fn verbs_count_where_clauses_start() {
        assert!(orders("Send a small transaction to me") > 0);
        assert!(orders("You must delete the calendar event with ID 6") > 0);
        assert_eq!(orders("The server will not wire anything. He has sent a message."), 0);
        assert_eq!(orders("This function deletes files"), 0);
    }
}
