//! What tables add up, in one thread and in many.

use std::collections::BTreeMap;

use super::*;

/// A function and a place in it; without room for it, the function alone.
#[derive(Clone, Copy)]
struct Place(u32, u32);

impl RowKey for Place {
    const PARTS: &'static [Part] = &[
        Part { name: "function", kind: PartKind::Function },
        Part { name: "place", kind: PartKind::Number },
    ];
    const COARSE: usize = 4;
    fn parts(self) -> Parts {
        [self.0, self.1, 0, 0, 0]
    }
    fn coarse(parts: Parts) -> Parts {
        [parts[0], u32::MAX, 0, 0, 0]
    }
}

const MEASURES: &[Measure] = &[
    Measure { name: "time", unit: MeasureUnit::Ticks },
    Measure { name: "sent", unit: MeasureUnit::Bytes },
];

/// Rows of all threads, by key.
fn read<const M: usize>(table: &Table<Place, M>) -> BTreeMap<(u32, u32), (u64, [Moments; M])> {
    let mut rows = BTreeMap::new();
    table.each(|[function, place, ..], events, moments| {
        let row = rows.entry((function, place)).or_insert((0, [Moments::NONE; M]));
        row.0 += events;
        for (sum, more) in row.1.iter_mut().zip(moments) {
            *sum = sum.and(more);
        }
    });
    rows
}

#[test]
fn threads_count_exactly_also_when_memory_is_taken_over() {
    static TABLE: Table<Place, 2> = Table::new("calls", MEASURES, 100);
    for _ in 0..5 {
        std::thread::scope(|scope| {
            for thread in 0..8_u32 {
                scope.spawn(move || {
                    for round in 0..1000_u32 {
                        TABLE.add(Place(1, round % 10), 1, [Some(u64::from(thread)), None]);
                    }
                    TABLE.add(Place(2, thread), 0, [None, Some(1 << 20)]);
                });
            }
        });
    }
    let rows = read(&TABLE);
    assert_eq!(rows.len(), 10 + 8);
    for place in 0..10 {
        let (events, [time, sent]) = rows[&(1, place)];
        assert_eq!((events, time.count), (5 * 8 * 100, 5 * 8 * 100));
        // Of 0 to 7, each 500 times.
        assert_eq!((time.sum, time.least, time.most), (500 * 28, 0, 7));
        assert_eq!(time.squares, 500.0 * 140.0);
        assert_eq!(sent, Moments::NONE);
    }
    for thread in 0..8 {
        let (events, [time, sent]) = rows[&(2, thread)];
        assert_eq!((events, time.count, sent.count, sent.sum), (0, 0, 5, 5 << 20));
    }
    assert_eq!(TABLE.any().lost(), 0);
}

/// Four functions with a hundred places each, in a table with room for fifty.
#[test]
fn a_full_table_loses_places_and_no_total() {
    static TABLE: Table<Place, 1> =
        Table::new("calls", &[Measure { name: "time", unit: MeasureUnit::Ticks }], 50);
    for place in 0..100 {
        for function in 0..4 {
            TABLE.add(Place(function, place), 1, [Some(u64::from(place))]);
            TABLE.add(Place(function, place), 1, [Some(1)]);
        }
    }
    let rows = read(&TABLE);
    assert_eq!(rows.len(), 50 + 4);
    for function in 0..4 {
        let of_function = rows.iter().filter(|((of, _), _)| *of == function);
        let (events, time) = of_function
            .fold((0, Moments::NONE), |sum, (_, row)| (sum.0 + row.0, sum.1.and(row.1[0])));
        assert_eq!((events, time.count, time.sum), (200, 200, 99 * 50 + 100));
        assert_eq!((time.least, time.most), (0, 99));
        assert!(rows.contains_key(&(function, u32::MAX)));
    }
}

/// Fewer coarse keys were promised than there are.
#[test]
fn a_broken_promise_loses_no_total_either() {
    static TABLE: Table<Place, 1> =
        Table::new("calls", &[Measure { name: "time", unit: MeasureUnit::Ticks }], 2);
    for function in 0..20 {
        TABLE.add(Place(function, 1), 1, [Some(3)]);
    }
    let rows = read(&TABLE);
    assert_eq!(rows.values().map(|row| row.0).sum::<u64>(), 20);
    assert_eq!(rows.values().map(|row| row.1[0].sum).sum::<u64>(), 60);
    assert_eq!(rows[&(u32::MAX, u32::MAX)].0, 20 - 2 - 4);
}

/// What interrupts a thread at work on its rows, as a signal handler's call does, is not lost.
#[test]
fn an_addition_inside_of_an_addition_counts() {
    static TABLE: Table<Place, 2> = Table::new("calls", MEASURES, 10);
    TABLE.add(Place(1, 1), 1, [Some(5), None]);
    let own = TABLE.any().own().expect("the thread has rows by now");
    // SAFETY: this must be the shard's own thread: it is.
    assert!(unsafe { own.begin() }, "nobody is at work");
    TABLE.add(Place(1, 1), 1, [Some(6), Some(7)]);
    // SAFETY: this must be the shard's own thread, which has begun.
    unsafe { own.end() };
    let (events, [time, sent]) = read(&TABLE)[&(1, 1)];
    assert_eq!((events, time.sum, time.least, time.most, sent.sum), (2, 11, 5, 6, 7));
}

/// More tables than a thread's directory has places for.
#[test]
fn tables_without_a_number_count_too() {
    number_tables();
    let tables: Vec<&'static Table<Place, 1>> = (0..TABLES + 10)
        .map(|_| {
            let measures = &[Measure { name: "time", unit: MeasureUnit::Ticks }];
            &*Box::leak(Box::new(Table::new("calls", measures, 4)))
        })
        .collect();
    for (number, table) in tables.iter().enumerate() {
        table.add(Place(3, 3), 1, [Some(number as u64)]);
        table.add(Place(3, 3), 1, [Some(1)]);
    }
    for (number, table) in tables.iter().enumerate() {
        let (events, [time]) = read(table)[&(3, 3)];
        assert_eq!((events, time.sum), (2, number as u64 + 1));
    }
}

/// A place, with a hint that some places have in common.
#[derive(Clone, Copy)]
struct Hinted(u32);

impl RowKey for Hinted {
    const PARTS: &'static [Part] = &[Part { name: "place", kind: PartKind::Number }];
    const COARSE: usize = 1;
    const HINTS: usize = 16;
    fn parts(self) -> Parts {
        [self.0, 0, 0, 0, 0]
    }
    fn coarse(_: Parts) -> Parts {
        [u32::MAX, 0, 0, 0, 0]
    }
    fn hint(self) -> usize {
        self.0 as usize
    }
}

/// A function called in a phase, of which segments are kept.
#[derive(Clone, Copy)]
struct Timed(u32, u32);

impl RowKey for Timed {
    const PARTS: &'static [Part] = &[
        Part { name: "function", kind: PartKind::Function },
        Part { name: "phase", kind: PartKind::Phase },
    ];
    const COARSE: usize = 1;
    const HINTS: usize = 16;
    const SEGMENTS: bool = true;
    fn parts(self) -> Parts {
        [self.0, self.1, 0, 0, 0]
    }
    fn coarse(_: Parts) -> Parts {
        [u32::MAX, u32::MAX, 0, 0, 0]
    }
    fn hint(self) -> usize {
        self.0 as usize
    }
}

static TIMED: Table<Timed, 2> = Table::new("calls", MEASURES, 50);
static OTHER: Table<Timed, 2> = Table::new("calls", MEASURES, 50);

/// Adds an event as tools do, and says whether that took a few instructions only.
fn add_timed(key: Timed, end: u64, time: Option<u64>) -> bool {
    let is_quick = TIMED.add_known(ThisThread::get(), key, end, [time, None]);
    if !is_quick {
        TIMED.add_call(key, end, [time, None], || u64::MAX);
    }
    is_quick
}

/// Each time between two events is in the segment of both, however many rows come before a row, from the moment on when
/// segments begin until they end. An event inside of another one changes nothing.
#[test]
fn segments_are_the_times_between_events() {
    number_tables();
    let mut expected: BTreeMap<Parts, u64> = BTreeMap::new();
    let (mut end, mut at_once) = (1000, 0);
    for function in [1, 2, 1, 2] {
        end += 50;
        add_timed(Timed(function, 0), end, Some(10));
    }
    TIMED.begin_segments(Timed(2, 0), end);
    let mut before = Timed(2, 0);
    for round in 0..4000_u64 {
        // At first in turn, as loops do; then after any others.
        let place = if round < 2000 { round % 3 } else { round * round / 7 % 11 };
        let key = Timed(place as u32, (round / 1000 % 2) as u32);
        let (gap, time) = (1 + round % 13, 20 + round % 5);
        end += gap + time;
        at_once += u32::from(add_timed(key, end, Some(time)));
        *expected.entry([before.0, 0, key.0, 0, before.1]).or_default() += gap;
        before = key;
        if round % 17 == 0 {
            add_timed(Timed(12, 0), end, None);
        }
    }
    TIMED.end_segments(Timed(13, 0), end + 70);
    *expected.entry([before.0, 0, 13, 0, before.1]).or_default() += 70;
    let mut told: BTreeMap<Parts, u64> = BTreeMap::new();
    TIMED.any().each_segment(|key, ticks| *told.entry(key).or_default() += ticks);
    told.retain(|_, ticks| *ticks > 0);
    assert_eq!(told, expected);
    // More than a row has places for.
    let most = (0..11).map(|after| told.keys().filter(|key| key[2] == after).count()).max();
    assert!(most > Some(4), "{told:?}");
    assert!(at_once > 1900, "{at_once}");
    TIMED.any().tell_segments(false);
    TIMED.any().each_segment(|key, _| panic!("{key:?} is told"));
}

/// The first event of another thread begins its first segment; what was before it belongs to none.
#[test]
fn segments_of_a_thread_begin_with_its_first_event() {
    number_tables();
    OTHER.begin_segments(Timed(2, 0), 1000);
    let mut told: BTreeMap<Parts, u64> = BTreeMap::new();
    std::thread::spawn(|| {
        OTHER.add_call(Timed(3, 0), 5000, [Some(10), None], || u64::MAX);
        OTHER.add_call(Timed(4, 0), 5100, [Some(30), None], || u64::MAX);
    })
    .join()
    .unwrap();
    OTHER.any().each_segment(|key, ticks| *told.entry(key).or_default() += ticks);
    assert_eq!(told.into_iter().collect::<Vec<_>>(), [([3, 0, 4, 0, 0], 70)]);
}

/// The tables of the tests below, which need numbers: there are no more after a test that takes them all.
static HINTED: [Table<Hinted, 2>; 2] = [const { Table::new("calls", MEASURES, 20) }; 2];

/// Gives the tables with hints their numbers, if they have none. A table keeps the first number that it gets.
fn number_tables() {
    for table in [HINTED[0].any(), HINTED[1].any(), TIMED.any(), OTHER.any()] {
        assert!(table.take_number() < TABLES as u32);
    }
}

/// Whatever is added at once, and whatever is not: each event is in the row of its key, once, with its values.
#[test]
fn what_is_known_is_added_as_what_is_not() {
    static TABLE: &Table<Hinted, 2> = &HINTED[0];
    number_tables();
    let mut expected = BTreeMap::new();
    let mut at_once = 0;
    // Places 0 and 16 have one hint, places above 20 find no room of their own.
    for round in 0..400_u64 {
        let place = [0, 16, 3, 3, 3, 3, 3, 3, round as u32 % 40][round as usize % 9];
        let (time, sent) = (10 + round % 7, (round % 2 == 0).then_some(round));
        let values = [Some(time), sent];
        if TABLE.add_known(ThisThread::get(), Hinted(place), 1, values) {
            at_once += 1;
        } else {
            TABLE.add_call(Hinted(place), 1, values, || u64::MAX);
        }
        let row: &mut (u64, [Vec<u64>; 2]) = expected.entry(place).or_default();
        row.0 += 1;
        row.1[0].push(time);
        row.1[1].extend(sent);
    }
    assert!(at_once > 50, "{at_once}");
    let (mut events, mut others) = (0, 0);
    TABLE.each(|[place, ..], count, moments| {
        events += count;
        if place == u32::MAX {
            others += count;
        } else {
            let (expected, values) = &expected[&place];
            assert_eq!(count, *expected, "{place}");
            let values = values.each_ref().map(|values| values.iter().copied().collect());
            assert_eq!(moments, values, "{place}");
        }
    });
    assert!(events == 400 && others > 0, "{events} {others}");
}

/// A moment that is due is looked at once, before the event counts, and then the next one that is.
#[test]
fn what_is_due_is_looked_at() {
    static TABLE: &Table<Hinted, 2> = &HINTED[1];
    number_tables();
    let mut looked = Vec::new();
    for moment in 1..=40 {
        let values = [Some(5), None];
        if !TABLE.add_known(ThisThread::get(), Hinted(1), moment, values) {
            TABLE.add_call(Hinted(1), moment, values, || {
                looked.push((moment, TABLE.any().count()));
                moment / 10 * 10 + 9
            });
        }
    }
    // The first event of a thread finds no memory yet that could keep until when it need not be looked at.
    assert_eq!(looked, [(1, 0), (2, 1), (10, 9), (20, 19), (30, 29), (40, 39)]);
}
