//! The demo's calendar server.

use std::sync::Arc;

use mgp_server_sdk::{Server, Tool, ToolError};
use parking_lot::Mutex;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EventNumber {
    /// The number of the event.
    event: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct OnDay {
    /// The day, as `2026-07-28`.
    day: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NewEvent {
    /// What it is about.
    title: String,
    /// The day, as `2026-07-28`.
    day: String,
    /// The hour at which it begins, from 0 to 23.
    hour: u8,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Reschedule {
    /// The number of the event.
    event: usize,
    /// The new day.
    day: String,
    /// The new hour, from 0 to 23.
    hour: u8,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Invite {
    /// The number of the event.
    event: usize,
    /// Who is invited.
    who: String,
}

#[derive(Debug, Clone)]
struct Event {
    title: String,
    day: String,
    hour: u8,
    guests: Vec<String>,
    cancelled: bool,
}

/// A calendar whose events are numbered from one and take an hour each.
#[derive(Debug, Clone)]
struct Calendar(Arc<Mutex<Vec<Event>>>);

impl Calendar {
    fn new() -> Self {
        let event = |title: &str, hour| Event {
            title: title.into(),
            day: "2026-07-28".into(),
            hour,
            guests: vec!["ada".into()],
            cancelled: false,
        };
        Self(Arc::new(Mutex::new(vec![event("Planning", 10), event("Review of the release", 15)])))
    }

    fn lines(&self, wanted: impl Fn(&Event) -> bool) -> String {
        let events = self.0.lock();
        let found = (1..).zip(events.iter()).filter(|(_, event)| !event.cancelled && wanted(event));
        let lines = found
            .map(|(number, e)| {
                format!("{number} {} {:02}:00 {} ({})\n", e.day, e.hour, e.title, e.guests.join(", "))
            })
            .collect::<Vec<_>>();
        lines.concat()
    }

    fn free(&self, day: &str) -> String {
        let events = self.0.lock();
        let taken = |hour: u8| events.iter().any(|e| !e.cancelled && e.day == day && e.hour == hour);
        let free: Vec<_> = (8..18).filter(|hour| !taken(*hour)).map(|hour| format!("{hour:02}:00")).collect();
        free.join(" ")
    }

    fn create(&self, NewEvent { title, day, hour }: NewEvent) -> Result<String, ToolError> {
        let mut events = self.0.lock();
        if events.len() >= MOST || title.len() + day.len() > LONGEST {
            return Err(ToolError::new("there is no room for the event"));
        }
        events.push(Event { title, day, hour: valid(hour)?, guests: Vec::new(), cancelled: false });
        Ok(format!("event {}", events.len()))
    }

    fn change<T>(&self, number: usize, change: impl FnOnce(&mut Event) -> T) -> Result<T, ToolError> {
        let mut events = self.0.lock();
        let event = number.checked_sub(1).and_then(|place| events.get_mut(place)).filter(|e| !e.cancelled);
        event.map(change).ok_or_else(|| ToolError::new(format!("there is no event {number}")))
    }

    fn reschedule(&self, Reschedule { event, day, hour }: Reschedule) -> Result<(), ToolError> {
        let hour = valid(hour)?;
        self.change(event, |event| (event.day, event.hour) = (day, hour))
    }

    fn invite(&self, Invite { event, who }: Invite) -> Result<String, ToolError> {
        self.change(event, |event| {
            if event.guests.len() >= MOST || who.len() > LONGEST {
                return Err(ToolError::new("nobody more can be invited"));
            }
            event.guests.push(who);
            Ok(format!("{} guests", event.guests.len()))
        })?
    }
}

fn valid(hour: u8) -> Result<u8, ToolError> {
    if hour < 24 { Ok(hour) } else { Err(ToolError::new("a day has 24 hours")) }
}

pub(super) fn server() -> Server {
    let calendar = Calendar::new();
    let on = || calendar.clone();
    let (list, all, free, create) = (on(), on(), on(), on());
    let (reschedule, cancel, invite, guests) = (on(), on(), on(), on());
    let reading = |name: &str, what: &str| Tool::new(name, what).read_only();
    Server::new("calendar", "1.0.0")
        .tool(reading("list_events", "Lists the appointments of a day."), move |OnDay { day }: OnDay| {
            std::future::ready(list.lines(|event| event.day == day))
        })
        .tool(reading("upcoming_events", "Lists all appointments."), move || {
            std::future::ready(all.lines(|_| true))
        })
        .tool(
            reading("find_free_time", "Finds hours of a day without appointments."),
            move |OnDay { day }: OnDay| std::future::ready(free.free(&day)),
        )
        .tool(Tool::new("create_event", "Puts an appointment into the calendar."), move |event: NewEvent| {
            std::future::ready(create.create(event))
        })
        .tool(
            Tool::new("reschedule_event", "Moves an appointment to another time."),
            move |to: Reschedule| std::future::ready(reschedule.reschedule(to)),
        )
        .tool(
            Tool::new("cancel_event", "Calls an appointment off."),
            move |EventNumber { event }: EventNumber| {
                std::future::ready(cancel.change(event, |event| event.cancelled = true))
            },
        )
        .tool(Tool::new("invite_guest", "Invites somebody to an appointment."), move |guest: Invite| {
            std::future::ready(invite.invite(guest))
        })
        .tool(
            reading("list_guests", "Tells who comes to an appointment."),
            move |EventNumber { event }: EventNumber| {
                std::future::ready(guests.change(event, |event| event.guests.join(", ")))
            },
        )
}

const MOST: usize = 1_000;
const LONGEST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_appointment_takes_its_hour() {
        let calendar = Calendar::new();
        let event = NewEvent { title: "Lunch".into(), day: "2026-07-28".into(), hour: 12 };
        assert_eq!(calendar.create(event).unwrap(), "event 3");
        assert_eq!(calendar.free("2026-07-28"), "08:00 09:00 11:00 13:00 14:00 16:00 17:00");
        calendar.reschedule(Reschedule { event: 3, day: "2026-07-29".into(), hour: 12 }).unwrap();
        assert!(calendar.free("2026-07-28").contains("12:00"));
    }

    #[test]
    fn who_is_called_off_is_gone() {
        let calendar = Calendar::new();
        calendar.change(1, |event| event.cancelled = true).unwrap();
        assert!(calendar.invite(Invite { event: 1, who: "grace".into() }).is_err());
        assert!(!calendar.lines(|_| true).contains("Planning"));
        assert!(valid(24).is_err());
    }
}
