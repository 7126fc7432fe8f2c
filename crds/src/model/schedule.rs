//! When backups are to be made: five fields as cron has them, in UTC.

use std::fmt;

use cronexpr::{Crontab, FallbackTimezoneOption, ParseOptions, parse_crontab_with};
use jiff::Timestamp;

/// The short forms that cron knows, and what they stand for.
const SHORT: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// As systemd writes them.
const CALENDAR_DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// One of the five fields: what it is called, its lowest and highest number, and its names.
struct Column {
    what: &'static str,
    lowest: u8,
    highest: u8,
    names: &'static [&'static str],
}

const COLUMNS: [Column; 5] = [
    Column { what: "minute", lowest: 0, highest: 59, names: &[] },
    Column { what: "hour", lowest: 0, highest: 23, names: &[] },
    Column { what: "day of the month", lowest: 1, highest: 31, names: &[] },
    Column { what: "month", lowest: 1, highest: 12, names: &MONTHS },
    // 7 is Sunday too.
    Column { what: "day of the week", lowest: 0, highest: 7, names: &DAYS },
];

/// A schedule: minute, hour, day of the month, month and day of the week, as cron and Kubernetes' CronJob have them, in UTC. Where both days are restricted
/// one of them is enough (crontab(5)). When it comes is cronexpr's word; the fields are for systemd, which has another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    text: String,
    fields: [Vec<u8>; 5],
    /// Whether the field begins with a star, as cron asks of the two kinds of days.
    stars: [bool; 5],
}

impl Schedule {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let all: Vec<&str> = long(text).split_ascii_whitespace().collect();
        let Ok(parts) = <[&str; 5]>::try_from(all.as_slice()) else {
            return Err(format!(
                "it has {} fields, and a schedule has five: minute, hour, day of the month, month, day of the week",
                all.len()
            ));
        };
        let mut fields: [Vec<u8>; 5] = Default::default();
        for ((part, column), field) in parts.iter().zip(&COLUMNS).zip(&mut fields) {
            *field = numbers(part, column)?;
        }
        let schedule = Self { text: text.to_owned(), fields, stars: parts.map(|part| part.starts_with('*')) };
        match schedule.crontab().and_then(|crontab| crontab.find_next(Timestamp::UNIX_EPOCH)) {
            Ok(_) => Ok(schedule),
            Err(_) => Err("no day is such a one, so that it would never come".to_owned()),
        }
    }

    /// The first moment after one, in seconds since 1970.
    #[must_use]
    pub fn next(&self, after: i64) -> Option<i64> {
        let after = Timestamp::from_second(after).ok()?;
        self.crontab().ok()?.find_next(after).ok().map(|moment| moment.timestamp().as_second())
    }

    /// The same as systemd has it: one of these comes whenever the schedule does (systemd.time(7)).
    #[must_use]
    pub fn calendars(&self) -> Vec<String> {
        let [minutes, hours, days, months, weekdays] = &self.fields;
        let numbers = |field: &[u8], column: &Column| {
            if field.len() == usize::from(column.highest - column.lowest) + 1 {
                return "*".to_owned();
            }
            field.iter().map(|number| format!("{number:02}")).collect::<Vec<_>>().join(",")
        };
        let [minute, hour, day, month, _] = &COLUMNS;
        let of_week = if weekdays.len() == DAYS.len() { String::new() } else { weekday_names(weekdays) };
        let line = |of_week: &str, days: &str| {
            format!("{of_week}*-{}-{days} {}:{}:00 UTC", numbers(months, month), numbers(hours, hour), numbers(minutes, minute))
        };
        let of_month = numbers(days, day);
        let [.., day_star, _, weekday_star] = self.stars;
        // Vixie's cron, and all after it: both have to be met where one of them begins with a star, else one of them.
        if day_star || weekday_star { vec![line(&of_week, &of_month)] } else { vec![line("", &of_month), line(&of_week, "*")] }
    }

    fn crontab(&self) -> Result<Crontab, cronexpr::Error> {
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::UTC;
        parse_crontab_with(long(&self.text), options)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// What a short form stands for, and anything else as it is.
fn long(text: &str) -> &str {
    SHORT.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map_or(text, |(_, fields)| fields)
}

fn weekday_names(weekdays: &[u8]) -> String {
    let names: Vec<&str> = weekdays.iter().filter_map(|day| CALENDAR_DAYS.get(usize::from(*day)).copied()).collect();
    format!("{} ", names.join(","))
}

/// The numbers that a field stands for, each once, in order; Sunday is 0.
fn numbers(text: &str, column: &Column) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => {
                let step = step.parse::<u8>().ok().filter(|step| *step > 0);
                (range, Some(step.ok_or_else(|| wrong(item, column, "behind `/` is a number, and not 0"))?))
            }
            None => (item, None),
        };
        let highest = if column.names.len() == DAYS.len() { 6 } else { column.highest };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from, item, column)?, number(to, item, column)?),
            None if range == "*" => (column.lowest, highest),
            None => {
                let one = number(range, item, column)?;
                (one, if step.is_some() { highest } else { one })
            }
        };
        if from > to {
            return Err(wrong(item, column, "its end is before its beginning"));
        }
        all.extend((from..=to).step_by(usize::from(step.unwrap_or(1))));
    }
    if column.names.len() == DAYS.len() {
        all.iter_mut().for_each(|day| *day %= 7);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn number(text: &str, item: &str, column: &Column) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    let named = column.names.iter().position(|name| *name == lower).and_then(|index| u8::try_from(index).ok());
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = named.map(|index| index + column.lowest).or_else(|| text.parse().ok().filter(|_| is_number));
    let in_range = number.filter(|number| (column.lowest..=column.highest).contains(number));
    in_range.ok_or_else(|| wrong(item, column, &format!("{} to {} can stand there", column.lowest, column.highest)))
}

fn wrong(item: &str, column: &Column, because: &str) -> String {
    format!("its {} `{item}` can't be read: {because}", column.what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use proptest::prelude::*;

    use super::Schedule;

    const DAY: i64 = 86_400;
    /// 2026-11-27, a Friday.
    const FRIDAY: i64 = 1_795_737_600;

    fn next(text: &str, after: i64) -> i64 {
        Schedule::parse(text).unwrap().next(after).unwrap() - FRIDAY
    }

    #[test]
    fn it_comes_as_cron_has_it() {
        assert_eq!(next("0 */6 * * *", FRIDAY), 6 * 3_600);
        assert_eq!(next("0 */6 * * *", FRIDAY - 1), 0);
        assert_eq!(next("30 3 * * sun", FRIDAY), 2 * DAY + 3 * 3_600 + 1_800);
        assert_eq!(next("30 3 * * 7", FRIDAY), 2 * DAY + 3 * 3_600 + 1_800);
        assert_eq!(next("@daily", FRIDAY), DAY);
        assert_eq!(next("0 0 1 * mon", FRIDAY), 3 * DAY, "one of two days is enough");
        assert_eq!(next("0 0 1 DEC *", FRIDAY), 4 * DAY);
    }

    #[test]
    fn systemd_has_another_form() {
        let of = |text: &str| Schedule::parse(text).unwrap().calendars();
        assert_eq!(of("0 */6 * * *"), ["*-*-* 00,06,12,18:00:00 UTC"]);
        assert_eq!(of("*/20 * * * 1-5"), ["Mon,Tue,Wed,Thu,Fri *-*-* *:00,20,40:00 UTC"]);
        assert_eq!(of("5 4 1 jan,jul *"), ["*-01,07-01 04:05:00 UTC"]);
        assert_eq!(of("0 0 1 * 7"), ["*-*-01 00:00:00 UTC", "Sun *-*-* 00:00:00 UTC"]);
        assert_eq!(of("0 0 */2 * 1"), ["Mon *-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 00:00:00 UTC"]);
        assert_eq!(of("@weekly"), ["Sun *-*-* 00:00:00 UTC"]);
    }

    #[test]
    fn what_is_none_is_told() {
        let because = |text: &str| Schedule::parse(text).unwrap_err();
        assert!(because("0 3 * *").contains("has 4 fields"));
        assert!(because("0 3 * * * UTC").contains("has 6 fields"));
        assert!(because("61 3 * * *").contains("its minute `61` can't be read: 0 to 59 can stand there"));
        assert!(because("0 5-3 * * *").contains("its end is before its beginning"));
        assert!(because("*/0 3 * * *").contains("not 0"));
        assert!(because("0 0 L * *").contains("day of the month"));
        assert!(because("0 0 30 2 *").contains("never"));
        assert!(because("@reboot").contains("five"));
        assert!(Schedule::parse("0 0 ? * *").is_err() && Schedule::parse("0 0 * * 5#2").is_err() && Schedule::parse("+1 0 * * *").is_err());
    }

    proptest! {
        /// What cronexpr and our fields take a schedule for is the same: its next moment is one of the fields', and none before it is.
        #[test]
        fn both_readings_agree(
            minute in prop::sample::select(vec!["*", "0", "*/7", "3-9/2", "58", "5/10"]),
            hour in prop::sample::select(vec!["*", "3", "*/5", "20-23"]),
            day in prop::sample::select(vec!["*", "1", "*/3", "31", "10-12"]),
            month in prop::sample::select(vec!["*", "2", "jan-mar", "*/2"]),
            week in prop::sample::select(vec!["*", "0", "7", "mon-fri", "sat,sun", "*/2", "5-7"]),
            after in FRIDAY..FRIDAY + 400 * DAY,
        ) {
            let Ok(schedule) = Schedule::parse(&format!("{minute} {hour} {day} {month} {week}")) else { return Ok(()) };
            let next = schedule.next(after).unwrap();
            prop_assert!(next > after && by_fields(&schedule, next));
            let first = (after / 60 + 1) * 60;
            // A look at every minute of years would take too long.
            let earlier = (first..next).step_by(60).take(20_000).find(|moment| by_fields(&schedule, *moment));
            prop_assert_eq!(earlier, None);
        }
    }

    fn by_fields(schedule: &Schedule, moment: i64) -> bool {
        let time = jiff::Timestamp::from_second(moment).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        let [minutes, hours, days, months, weekdays] = &schedule.fields;
        let has = |field: &[u8], number: i8| field.contains(&u8::try_from(number).unwrap());
        let [.., day_star, _, weekday_star] = schedule.stars;
        let (day, week) = (has(days, time.day()), has(weekdays, time.weekday().to_sunday_zero_offset()));
        let is_day = if day_star || weekday_star { day && week } else { day || week };
        has(minutes, time.minute()) && has(hours, time.hour()) && has(months, time.month()) && is_day && time.second() == 0
    }
}
