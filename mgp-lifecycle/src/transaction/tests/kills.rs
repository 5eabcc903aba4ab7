//! Processes that die between any two writes and effects of a transaction.

use std::collections::{BTreeMap, BTreeSet};

use mgp_types::canonical::Digest;
use mgp_types::ext::IdempotencyKey;
use mgp_types::ext::transaction::CompensationStatus;
use mgp_types::mgp::Timestamp;

use super::*;
use crate::doubles::{KillSwitch, Random, each_seed_alone, is_whole, life, secs};
use crate::store::{EffectStore, StoreError, Written};
use crate::transaction::InterruptedStep;
use crate::transaction::step::{LoggedEvent, TransactionLog};
use crate::wall_clock::WallClock;

/// A log whose process may die before and after each write.
#[derive(Debug)]
struct MortalLog {
    store: EffectStore,
    switch: KillSwitch,
}

impl TransactionLog for MortalLog {
    fn load(&self) -> Result<Vec<LoggedEvent>, StoreError> {
        self.store.load()
    }

    fn append(&self, event: LoggedEvent) -> Written {
        // Writes are asked for in order, so that a death before one is a death before all that come later.
        let (store, switch) = (self.store.clone(), self.switch.clone());
        if !switch.passes() {
            return Box::pin(std::future::pending());
        }
        let written = store.append(event);
        Box::pin(async move {
            let outcome = written.await;
            switch.point().await;
            outcome
        })
    }

    fn forget(&self, ids: Vec<Digest>) -> Written {
        self.store.forget(ids)
    }
}

/// The world outside of the process: what was made and taken back. It knows the keys of calls, as servers do.
#[derive(Debug, Default)]
struct World {
    /// The keys of the calls that were carried out.
    keys: BTreeSet<String>,
    /// How often each thing was made.
    made: BTreeMap<String, u32>,
    /// What was taken back, in order.
    undone: Vec<String>,
    /// What is never taken back.
    stuck: BTreeSet<String>,
}

/// The way to the world of a process that may die before and after each effect.
#[derive(Debug, Clone)]
struct MortalHands {
    world: Arc<Mutex<World>>,
    switch: KillSwitch,
    /// True if the outcome of a step that was interrupted can be asked for.
    can_resolve: bool,
}

impl MortalHands {
    async fn make(&self, key: &str, thing: &str) {
        self.switch.point().await;
        {
            let mut world = self.world.lock();
            if world.keys.insert(key.to_owned()) {
                *world.made.entry(thing.to_owned()).or_default() += 1;
            }
        }
        self.switch.point().await;
    }
}

impl Compensator for MortalHands {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.switch.point().await;
            let outcome = {
                let mut world = self.world.lock();
                let thing = call.compensation.arguments.text("id").unwrap().into_owned();
                if world.stuck.contains(&thing) {
                    Err(Error::disconnected("the world does not let go"))
                } else {
                    if world.keys.insert(call.key.as_str().to_owned()) {
                        world.undone.push(thing);
                    }
                    Ok(())
                }
            };
            self.switch.point().await;
            outcome
        })
    }

    fn resolve(&self, step: InterruptedStep) -> BoxFuture<'_, Result<StepOutcome, Error>> {
        Box::pin(async move {
            if !self.can_resolve {
                return Err(Error::disconnected("nobody knows"));
            }
            let thing = step.step.arguments.unwrap().text("id").unwrap().into_owned();
            self.make(step.step.key.unwrap().as_str(), &thing).await;
            Ok(undo(&thing))
        })
    }
}

/// What the client wants, and how far it has come; it outlives the server.
#[derive(Debug)]
struct Client {
    steps: u32,
    next: u32,
    wants: Wish,
    acknowledged: Option<TransactionState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Commit,
    RollBack,
    Leave,
}

impl Client {
    /// Goes on with the transaction, until it is over or left alone.
    async fn go_on(&mut self, book: &TransactionBook, hands: &MortalHands) {
        if book.status(&ada(), &tx()).is_err() && book.begin(&ada(), &begin()).await.is_err() {
            return;
        }
        while self.next < self.steps {
            let number = self.next;
            // A step that is interrupted is not made again: its client gives up, or nobody hears of it any more.
            self.next += 1;
            let (id, key) = (format!("thing-{number}"), format!("make-{number}"));
            let arguments = Object::parse(format!(r#"{{"id":"{id}"}}"#)).unwrap();
            let call = create().repeatable(key.parse::<IdempotencyKey>().unwrap(), arguments);
            let Ok(open) = book.begin_step(&ada(), &step(&id), call).await else { return };
            hands.make(&key, &id).await;
            open.end(undo(&id)).await.unwrap();
        }
        match self.wants {
            Wish::Commit => match book.commit(&ada(), &tx()).await {
                Ok(committed) => self.acknowledged = Some(committed.status),
                Err(_) => self.wants = Wish::RollBack,
            },
            Wish::RollBack => {
                let request = RollbackTransaction::new(tx());
                if let Ok(report) = book.rollback(&ada(), &request, Arc::new(hands.clone())).await {
                    self.acknowledged = report.status;
                }
            }
            Wish::Leave => {}
        }
    }
}

/// Runs one transaction through processes that die, and returns how it ended.
fn mortal_transaction(mut random: Random) -> TransactionState {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let world = Arc::new(Mutex::new(World::default()));
    let steps = 1 + u32::try_from(random.below(4)).unwrap();
    if random.below(4) == 0 {
        world.lock().stuck.insert(format!("thing-{}", random.below(steps.into())));
    }
    let wants = [Wish::Commit, Wish::RollBack, Wish::Leave][usize::try_from(random.below(3)).unwrap()];
    let mut client = Client { steps, next: 0, wants, acknowledged: None };
    let can_resolve = random.below(2) == 0;
    for age in 0..12 {
        let mortal = age < 11;
        let switch = KillSwitch::after(if mortal { random.below(30) } else { u64::MAX });
        let hands = MortalHands { world: Arc::clone(&world), switch: switch.clone(), can_resolve };
        let end = life(&switch, async {
            let store = EffectStore::open(&path).unwrap();
            let now = Timestamp::from_millis(1_800_000_000_000 + age * 5000).unwrap();
            let log = MortalLog { store, switch: switch.clone() };
            let book = TransactionBook::restored(Box::new(log), WallClock::showing(now)).unwrap();
            let (running, compensator) = (book.clone(), Arc::new(hands.clone()));
            let run = tokio::spawn(async move { running.run(compensator).await });
            client.go_on(&book, &hands).await;
            while !state(&book).is_end() {
                tokio::time::sleep(secs(1)).await;
            }
            run.abort();
            book.status(&ada(), &tx()).unwrap()
        });
        if let Some(report) = end {
            check(&report, &world.lock(), &client);
            return report.status.unwrap();
        }
    }
    unreachable!("the last life has no end")
}

/// Checks that nothing was done twice, and nothing forgotten.
fn check(report: &TransactionReport, world: &World, client: &Client) {
    for (thing, times) in &world.made {
        assert_eq!(*times, 1, "{thing} was made more than once");
        let undone = world.undone.iter().filter(|undone| *undone == thing).count();
        let compensation = report.steps_compensated.iter().find(|step| step.step_id.as_str() == thing);
        match report.status.unwrap() {
            TransactionState::Committed => assert_eq!(undone, 0, "{thing} was taken back after a commit"),
            TransactionState::RolledBack => assert_eq!(undone, 1, "{thing} was forgotten"),
            TransactionState::PartiallyRolledBack => {
                let expected = match compensation.unwrap_or_else(|| panic!("nobody tells of {thing}")).status
                {
                    CompensationStatus::Compensated => 1,
                    CompensationStatus::CompensationFailed => 0,
                };
                assert_eq!(undone, expected, "{thing}");
            }
            other => panic!("a transaction ended as {other}"),
        }
    }
    assert!(world.undone.iter().all(|thing| world.made.contains_key(thing)), "{world:?}");
    assert!(world.undone.is_sorted_by(|one, next| one > next), "what was done last is taken back first");
    if let Some(acknowledged) = client.acknowledged {
        assert_eq!(Some(acknowledged), report.status, "the client was told something else");
    }
}

// covers: EXT-05-43
#[test]
fn nothing_is_done_twice_and_nothing_forgotten_wherever_the_process_dies() {
    let ends = each_seed_alone(1000, mortal_transaction);
    if is_whole() {
        for end in TransactionState::ALL.iter().filter(|state| state.is_end()) {
            let count = ends.iter().filter(|one| *one == end).count();
            assert!(count > 50, "{count} of 1000 transactions ended as {end}");
        }
    }
}
