//! A server against clients that misbehave.

use std::collections::HashMap;
use std::time::Duration;

use mgp_transport::ConnectionLimits;
use mgp_types::Revision;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use crate::guest::{Guest, Leaving, Move, Tool, Trouble};
use crate::pipe::Pipe;
use crate::runner::{left_over, seeds, tasks};
use crate::visit::{INITIALIZE, Visit, call, serve, server, visit};

#[tokio::test(start_paused = true)]
async fn cancels_and_ids_that_are_in_use() {
    family(Trouble::Calls).await;
}

#[tokio::test(start_paused = true)]
async fn bytes_and_messages_that_ask_for_nothing() {
    family(Trouble::Garbage).await;
}

#[tokio::test(start_paused = true)]
async fn floods_of_requests() {
    family(Trouble::Floods).await;
}

async fn family(trouble: Trouble) {
    let accept = server().accept().unwrap();
    let plan = |seed| Guest::from_seed(trouble, seed);
    let run = |guest| {
        let accept = accept.clone();
        async move {
            let visit = visit(&accept, &guest).await;
            violations(&guest, &visit)
        }
    };
    seeds(plan, run).await;
}

/// A call of a guest.
struct Asked {
    nonce: u64,
    tool: Tool,
    at: Instant,
}

/// Returns all faults of a visit.
fn violations(guest: &Guest, visit: &Visit) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut asked: HashMap<i64, Vec<Asked>> = HashMap::new();
    let mut cancelled: HashMap<i64, Instant> = HashMap::new();
    for ((_, what), at) in guest.moves.iter().zip(&visit.made) {
        let at = *at;
        match *what {
            Move::Call { id, nonce, tool } | Move::SlowCall { id, nonce, tool } => {
                asked.entry(id).or_default().push(Asked { nonce, tool, at });
            }
            Move::Flood { first, times } => {
                for id in first..first + times {
                    asked.entry(id).or_default().push(Asked { nonce: 0, tool: Tool::Echo, at });
                }
            }
            Move::Cancel { id } => {
                cancelled.entry(id).or_insert(at);
            }
            Move::Garbage(_) | Move::Notifications | Move::Replies | Move::StopReading(_) => {}
        }
    }
    if visit.made.len() != guest.moves.len() {
        wrong.push(format!("the connection ended after {} moves", visit.made.len()));
    }
    let Some(leaving) = visit.leaving else { return vec!["the guest did not leave".to_owned()] };
    for (id, asked) in &asked {
        let answers = visit.answers.get(id).map_or(&[][..], Vec::as_slice);
        let judge = Judge { asked, answers, cancelled: cancelled.get(id).copied(), guest, leaving };
        wrong.extend(judge.why().map(|why| format!("id {id}: {why}; {answers:?}")));
    }
    if let (Leaving::CloseWrites, Some(over)) = (guest.leaving.1, visit.over)
        && over > leaving + DRAIN + SOON
    {
        wrong.push(format!("it was over only {:?} after the last word", over - leaving));
    }
    wrong
}

/// The request under one id, and its answers.
struct Judge<'a> {
    asked: &'a [Asked],
    answers: &'a [(Instant, Value)],
    cancelled: Option<Instant>,
    guest: &'a Guest,
    leaving: Instant,
}

impl Judge<'_> {
    fn why(&self) -> Option<String> {
        for (at, answer) in self.answers {
            let Some(text) = answer["result"]["content"][0]["text"].as_str() else { continue };
            let of = self.asked.iter().find(|asked| asked.nonce.to_string() == text);
            match of.map(|asked| (asked.done(), asked.tool)) {
                None => return Some("the answer is another call's".to_owned()),
                Some((Some(done), Tool::Later(_))) if *at + SOON < done => {
                    return Some("too early".to_owned());
                }
                Some((Some(done), _)) if self.reads() && *at > done + SOON => {
                    return Some("late".to_owned());
                }
                Some(_) => {}
            }
        }
        let (least, most) = self.expected();
        let came = self.answers.len();
        (came < least || came > most).then(|| format!("{came} answers, not {least} to {most}"))
    }

    /// Returns how many answers there have to be, at least and at most.
    ///
    /// An id is in use from a call until its answer; what is called under it meanwhile is refused at once.
    fn expected(&self) -> (usize, usize) {
        let mut in_use = None;
        let (mut least, mut most) = (0, 0);
        for asked in self.asked {
            let due = match in_use {
                Some(None) => Some(asked.at),
                Some(Some(until)) if until > asked.at + SOON => Some(asked.at),
                // Which of the two came first cannot be told.
                Some(Some(until)) if until + SOON > asked.at => return (0, self.asked.len()),
                _ => {
                    in_use = Some(asked.done());
                    asked.done()
                }
            };
            most += usize::from(due.is_some());
            least += usize::from(due.is_some_and(|due| due + SOON < self.last(asked)));
        }
        (least, most)
    }

    /// Returns the last moment at which a ready answer has to come.
    fn last(&self, asked: &Asked) -> Instant {
        let patience = match self.guest.leaving.1 {
            Leaving::CloseWrites => DRAIN,
            Leaving::Vanish | Leaving::Reset if !self.reads() => return asked.at,
            Leaving::Vanish | Leaving::Reset => Duration::ZERO,
        };
        let last = self.leaving + patience;
        self.cancelled.map_or(last, |cancelled| cancelled.min(last))
    }

    /// Returns whether the guest reads all the time.
    fn reads(&self) -> bool {
        !self.guest.moves.iter().any(|(_, what)| matches!(what, Move::StopReading(_)))
    }
}

impl Asked {
    /// Returns when the answer is ready.
    fn done(&self) -> Option<Instant> {
        match self.tool {
            Tool::Echo => Some(self.at),
            Tool::Later(time) => Some(self.at + time),
            Tool::Hang => None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_of_a_client_that_never_reads_end_with_it() {
    for era in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let before = tasks();
        let accept = server().accept().unwrap();
        let Pipe { near, mut far } = Pipe::new(4 << 10);
        serve(&accept, near, ConnectionLimits::default());
        far.writer.write_all(INITIALIZE.as_bytes()).await.unwrap();
        for id in 0..1000 {
            let tool = if id % 2 == 0 { Tool::Hang } else { Tool::Later(Duration::from_millis(50)) };
            far.writer.write_all(&call(era, id, 0, tool)).await.unwrap();
        }
        tokio::task::yield_now().await;
        assert!(tasks() > before + 900);
        tokio::time::sleep(ConnectionLimits::default().write_timeout + Duration::from_secs(1)).await;
        assert!(far.writer.write_all(b"{}\n").await.is_err());
        assert_eq!(left_over(before).await, 0);
    }
}

/// The time for which a server goes on with its work when no more messages come.
const DRAIN: Duration = Duration::from_secs(1);
/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
