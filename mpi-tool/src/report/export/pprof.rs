//! A profile as pprof reads it (`go tool pprof`, Grafana, Speedscope): `profile.proto`, compressed by gzip.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use anyhow::{Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::read::Run;
use super::super::symbols::Frame;
use super::stacks::{self, Step};
use crate::protobuf::Message;

/// Field numbers of `profile.proto`, as github.com/google/pprof has it.
mod field {
    pub(super) mod profile {
        pub(in super::super) const SAMPLE_TYPE: u32 = 1;
        pub(in super::super) const SAMPLE: u32 = 2;
        pub(in super::super) const MAPPING: u32 = 3;
        pub(in super::super) const LOCATION: u32 = 4;
        pub(in super::super) const FUNCTION: u32 = 5;
        pub(in super::super) const TEXT: u32 = 6;
        pub(in super::super) const DURATION: u32 = 10;
        pub(in super::super) const COMMENT: u32 = 13;
        pub(in super::super) const DEFAULT_TYPE: u32 = 14;
    }
    pub(super) mod value_type {
        pub(in super::super) const TYPE: u32 = 1;
        pub(in super::super) const UNIT: u32 = 2;
    }
    pub(super) mod sample {
        pub(in super::super) const LOCATIONS: u32 = 1;
        pub(in super::super) const VALUES: u32 = 2;
    }
    pub(super) mod mapping {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const FILE: u32 = 5;
        pub(in super::super) const HAS_FUNCTIONS: u32 = 7;
        pub(in super::super) const HAS_FILES: u32 = 8;
        pub(in super::super) const HAS_LINES: u32 = 9;
    }
    pub(super) mod location {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const MAPPING: u32 = 2;
        pub(in super::super) const LINE: u32 = 4;
    }
    pub(super) mod line {
        pub(in super::super) const FUNCTION: u32 = 1;
        pub(in super::super) const LINE: u32 = 2;
    }
    pub(super) mod function {
        pub(in super::super) const ID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const SYSTEM_NAME: u32 = 3;
        pub(in super::super) const FILE: u32 = 4;
    }
}

/// What the time in code between calls is called, beside the measures of the report.
pub(super) const COMPUTING: &str = "computing";

/// Texts by their numbers: the first one is empty.
struct Texts(HashMap<String, u64>, Vec<String>);

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        *self.0.entry(text.to_owned()).or_insert_with(|| {
            self.1.push(text.to_owned());
            self.1.len() as u64 - 1
        })
    }
}

/// Writes a sample for each stack. Its values are sums over all ranks: the calls, each measure, and, if the report has segments,
/// the nanoseconds of computing between calls.
pub(in super::super) fn write(out: &mut dyn Write, run: &Run, frames: &[Vec<Frame>]) -> Result<()> {
    let Run { name, table, .. } = run;
    let mut types = vec![(table.events.as_str(), "count")];
    types.extend(
        table.measures.iter().map(|measure| (measure.name.as_str(), measure.unit.as_str())),
    );
    if table.segments.is_some() {
        types.push((COMPUTING, "nanoseconds"));
    }
    let mut samples: BTreeMap<Vec<Step>, Vec<u64>> = BTreeMap::new();
    let mut add = |steps: Vec<Step>, values: &mut dyn Iterator<Item = (usize, u64)>| {
        let sums = samples.entry(steps).or_insert_with(|| vec![0; types.len()]);
        values.for_each(|(at, value)| sums[at] = sums[at].saturating_add(value));
    };
    for (steps, line) in stacks::of_calls(run, frames)? {
        let measures = line.measures.iter().map(|sums| sums.sum);
        add(steps, &mut [line.events].into_iter().chain(measures).enumerate());
    }
    for (steps, nanoseconds) in stacks::of_segments(table, frames) {
        add(steps, &mut [(types.len() - 1, nanoseconds.max(0.0) as u64)].into_iter());
    }
    samples.retain(|_, values| values.iter().any(|value| *value > 0));
    if samples.is_empty() {
        bail!("{name} has no calls");
    }
    let mut texts = Texts(HashMap::from([(String::new(), 0)]), vec![String::new()]);
    let mut profile = Message::default();
    for (name, unit) in &types {
        let mut of = Message::default();
        of.number(field::value_type::TYPE, texts.number(name));
        of.number(field::value_type::UNIT, texts.number(unit));
        profile.inside(field::profile::SAMPLE_TYPE, &of);
    }
    let mut mapping = Message::default();
    mapping.number(field::mapping::ID, 1).number(field::mapping::FILE, texts.number(&table.tool));
    for has in [field::mapping::HAS_FUNCTIONS, field::mapping::HAS_FILES, field::mapping::HAS_LINES]
    {
        mapping.number(has, 1);
    }
    profile.inside(field::profile::MAPPING, &mapping);
    let mut functions: HashMap<(String, String), u64> = HashMap::new();
    let mut locations: HashMap<Step, u64> = HashMap::new();
    for (steps, values) in samples {
        let mut stack = Vec::new();
        // The innermost one is the first.
        for step in steps.into_iter().rev() {
            let next = locations.len() as u64 + 1;
            let number = *locations.entry(step).or_insert_with_key(|step| {
                let (file, line) = step.line.clone().unwrap_or_default();
                let next_function = functions.len() as u64 + 1;
                let key = (step.name.clone(), file);
                let function = *functions.entry(key).or_insert_with_key(|(name, file)| {
                    let mut function = Message::default();
                    let name = texts.number(name);
                    function.number(field::function::ID, next_function);
                    function.number(field::function::NAME, name);
                    function.number(field::function::SYSTEM_NAME, name);
                    function.number(field::function::FILE, texts.number(file));
                    profile.inside(field::profile::FUNCTION, &function);
                    next_function
                });
                let mut at = Message::default();
                at.number(field::line::FUNCTION, function);
                at.number(field::line::LINE, line.into());
                let mut location = Message::default();
                location.number(field::location::ID, next);
                location.number(field::location::MAPPING, 1);
                location.inside(field::location::LINE, &at);
                profile.inside(field::profile::LOCATION, &location);
                next
            });
            stack.push(number);
        }
        let mut sample = Message::default();
        sample.numbers(field::sample::LOCATIONS, stack);
        // Their numbers have a sign.
        let values = values.into_iter().map(|value| value.min(i64::MAX as u64));
        sample.numbers(field::sample::VALUES, values);
        profile.inside(field::profile::SAMPLE, &sample);
    }
    let whose = super::super::html::overview::whose(table);
    let comment =
        format!("{} {}: {whose}; values are sums over all ranks", table.tool, table.version);
    profile.number(field::profile::COMMENT, texts.number(&comment));
    if let Some(first) = table.measures.first() {
        profile.number(field::profile::DEFAULT_TYPE, texts.number(&first.name));
    }
    profile.number(field::profile::DURATION, table.wall.most as u64);
    for text in &texts.1 {
        profile.bytes(field::profile::TEXT, text.as_bytes());
    }
    let mut gzip = GzEncoder::new(out, Compression::default());
    gzip.write_all(profile.as_bytes())?;
    gzip.finish()?;
    Ok(())
}
