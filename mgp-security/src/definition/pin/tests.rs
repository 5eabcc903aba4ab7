use mgp_types::Object;

use super::*;
use crate::definition::MemoryPins;

fn server() -> ServerId {
    ServerId::new("files")
}

fn tool(name: &str, description: &str) -> Definition {
    let json = format!(r#"{{"name":"{name}","description":"{description}"}}"#);
    Definition::read(&Object::parse(json).unwrap()).unwrap()
}

fn pins(policy: FirstUse) -> (Arc<MemoryPins>, Pins) {
    let store = Arc::new(MemoryPins::default());
    (Arc::clone(&store), Pins::load(policy, store).unwrap())
}

fn verdicts(pins: &Pins, listed: &[Definition]) -> Vec<Verdict> {
    pins.observe(&server(), listed).unwrap().into_iter().map(|(_, verdict)| verdict).collect()
}

#[test]
fn trust_on_first_use_approves_at_once() {
    let (_, pins) = pins(FirstUse::Trust);
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [Verdict::FirstSeen { approved: true }]);
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [Verdict::Known]);
    assert!(pins.is_approved(&server(), &ToolName::new("read")));
}

#[test]
fn a_new_tool_waits_where_asking_is_the_policy() {
    let (_, pins) = pins(FirstUse::Ask);
    let read = tool("read", "a");
    for _ in 0..2 {
        assert_eq!(verdicts(&pins, std::slice::from_ref(&read)), [Verdict::FirstSeen { approved: false }]);
        assert!(!pins.is_approved(&server(), read.name()));
    }
    pins.approve(&server(), read.name(), read.digest()).unwrap();
    assert!(pins.is_approved(&server(), read.name()));
    assert_eq!(verdicts(&pins, &[read]), [Verdict::Known]);
}

#[test]
fn a_changed_tool_is_quarantined_until_approved_again() {
    let (_, pins) = pins(FirstUse::Trust);
    verdicts(&pins, &[tool("read", "a")]);
    let changed = tool("read", "b");
    for _ in 0..2 {
        let [Verdict::Changed { diff }] = &verdicts(&pins, std::slice::from_ref(&changed))[..] else {
            panic!("not changed")
        };
        assert_eq!(diff.changes[0].pointer, "/description");
        assert!(!pins.is_approved(&server(), changed.name()));
    }
    assert_eq!(pins.pending().len(), 1);
    pins.approve(&server(), changed.name(), changed.digest()).unwrap();
    assert_eq!(verdicts(&pins, &[changed]), [Verdict::Known]);
    assert!(pins.pending().is_empty());
}

#[test]
fn a_tool_that_returns_to_its_approved_definition_is_released() {
    let (_, pins) = pins(FirstUse::Trust);
    verdicts(&pins, &[tool("read", "a")]);
    verdicts(&pins, &[tool("read", "b")]);
    assert_eq!(verdicts(&pins, &[tool("read", "a")]), [Verdict::Known]);
    assert!(pins.is_approved(&server(), &ToolName::new("read")));
    assert!(pins.pending().is_empty());
}

#[test]
fn what_has_changed_again_is_not_what_was_approved() {
    let (_, pins) = pins(FirstUse::Trust);
    verdicts(&pins, &[tool("read", "a")]);
    let (seen, now) = (tool("read", "b"), tool("read", "c"));
    verdicts(&pins, std::slice::from_ref(&seen));
    verdicts(&pins, std::slice::from_ref(&now));
    let refused = pins.approve(&server(), seen.name(), seen.digest());
    assert!(matches!(refused, Err(ApproveError::OtherPending(digest)) if digest == now.digest()));
    assert!(!pins.is_approved(&server(), seen.name()));
    let unknown = pins.approve(&server(), &ToolName::new("write"), seen.digest());
    assert!(matches!(unknown, Err(ApproveError::NothingPending)));
}

#[test]
fn a_tool_that_went_away_comes_back_as_it_was_or_changed() {
    let (_, pins) = pins(FirstUse::Trust);
    verdicts(&pins, &[tool("read", "a"), tool("write", "a")]);
    let gone = pins.observe(&server(), &[tool("write", "a")]).unwrap();
    assert_eq!(gone[1], (ToolName::new("read"), Verdict::Gone));
    assert!(matches!(verdicts(&pins, &[tool("read", "b"), tool("write", "a")])[0], Verdict::Changed { .. }));
}

#[test]
fn a_quarantine_survives_a_restart() {
    let (store, before) = pins(FirstUse::Trust);
    verdicts(&before, &[tool("read", "a")]);
    verdicts(&before, &[tool("read", "b")]);
    drop(before);
    let after = Pins::load(FirstUse::Trust, Arc::clone(&store)).unwrap();
    assert!(!after.is_approved(&server(), &ToolName::new("read")));
    assert!(matches!(verdicts(&after, &[tool("read", "b")])[0], Verdict::Changed { .. }));
    after.approve(&server(), &ToolName::new("read"), tool("read", "b").digest()).unwrap();
    let last = Pins::load(FirstUse::Trust, store).unwrap();
    assert!(last.is_approved(&server(), &ToolName::new("read")));
}

#[test]
fn a_forgotten_server_starts_anew() {
    let (store, pins) = pins(FirstUse::Trust);
    verdicts(&pins, &[tool("read", "a")]);
    pins.forget(&server()).unwrap();
    assert!(store.load().unwrap().is_empty());
    assert_eq!(verdicts(&pins, &[tool("read", "b")]), [Verdict::FirstSeen { approved: true }]);
}

#[test]
fn a_server_cannot_have_pins_without_end() {
    let (_, pins) = pins(FirstUse::Trust);
    let many: Vec<_> = (0..MAX_TOOLS).map(|index| tool(&format!("tool{index}"), "a")).collect();
    // One after the other in a memory store is quadratic; the bound is what is tested here.
    let known = many.iter().map(|it| (it.name().clone(), PinState::Approved(it.clone()))).collect();
    pins.snapshot.store(Arc::new(Snapshot {
        servers: std::iter::once((server(), Arc::new(known))).collect(),
        names: Arc::default(),
    }));
    assert_eq!(
        verdicts(&pins, &[many[7].clone(), tool("one_more", "a")])[..2],
        [Verdict::Known, Verdict::Crowded]
    );
}

/// A store whose writes fail.
#[derive(Debug)]
struct Full;

impl PinStore for Full {
    fn load(&self) -> Result<Vec<Pinned>, StoreError> {
        Ok(Vec::new())
    }

    fn save(&self, _: &Pinned) -> Result<(), StoreError> {
        Err(StoreError::new("disk full"))
    }

    fn remove(&self, _: &ServerId, _: &ToolName) -> Result<(), StoreError> {
        Err(StoreError::new("disk full"))
    }
}

#[test]
fn what_the_store_does_not_have_is_not_approved() {
    let pins = Pins::load(FirstUse::Trust, Full).unwrap();
    assert!(pins.observe(&server(), &[tool("read", "a")]).is_err());
    assert!(!pins.is_approved(&server(), &ToolName::new("read")));
}
