//! Figures as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::sample::Estimate;

/// A line of a figure.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, Estimate)>,
}

/// Colours that are told apart also by those who see few.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(230, 159, 0),
    RGBColor(240, 228, 66),
];

/// What a figure may have besides its lines.
#[derive(Default)]
pub(crate) struct Options<'a> {
    /// Both axes are logarithmic; what is not positive is left out.
    pub(crate) logarithmic: bool,
    /// For each line every single value, as a dot.
    pub(crate) dots: &'a [Vec<(f64, f64)>],
}

/// Lines with the intervals of their points.
pub(crate) fn figure(x: &str, y: &str, lines: &[Line]) -> Result<String> {
    figure_with(x, y, lines, &Options::default())
}

/// The same, with options.
pub(crate) fn figure_with(
    x: &str,
    y: &str,
    lines: &[Line],
    options: &Options<'_>,
) -> Result<String> {
    let positive = |x: f64, y: f64| !options.logarithmic || x > 0.0 && y > 0.0;
    let mut kept: Vec<Drawn<'_>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.points.iter().all(|(_, y)| y.median.is_finite()) {
            let points = line.points.iter().copied().filter(|(x, y)| positive(*x, y.low)).collect();
            kept.push((&line.name, points, options.dots.get(index).map_or(&[], Vec::as_slice)));
        }
    }
    let all = || kept.iter().flat_map(|(_, points, _)| points);
    let dots = || kept.iter().flat_map(|(_, _, dots)| dots.iter());
    let extreme = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = extreme(&mut all().map(|(x, _)| *x));
    let heights = all().flat_map(|(_, y)| [y.low, y.high]);
    let (bottom, top) =
        extreme(&mut heights.chain(dots().filter(|(x, y)| positive(*x, *y)).map(|dot| dot.1)));
    if left > right {
        return Ok(String::new());
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (860, 420)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area);
        chart.margin(12).x_label_area_size(42).y_label_area_size(70);
        let failed = |error| anyhow!("a figure was not drawn: {error:?}");
        area.fill(&WHITE).map_err(failed)?;
        if options.logarithmic {
            let (x_axis, y_axis) = (left..right.max(left * 2.0), bottom * 0.8..top * 1.25);
            let mut chart =
                chart.build_cartesian_2d(x_axis.log_scale(), y_axis.log_scale()).map_err(failed)?;
            draw(&mut chart, x, y, &kept)?;
        } else {
            let margin = ((top - bottom) * 0.05).max(top.abs() * 0.01).max(f64::MIN_POSITIVE);
            let (x_axis, y_axis) = (left..right.max(left + 1.0), bottom - margin..top + margin);
            let mut chart = chart.build_cartesian_2d(x_axis, y_axis).map_err(failed)?;
            draw(&mut chart, x, y, &kept)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// A line's name, its points and its dots.
type Drawn<'a> = (&'a str, Vec<(f64, Estimate)>, &'a [(f64, f64)]);
type Chart<'a, X, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>;

fn draw<X, Y>(chart: &mut Chart<'_, X, Y>, x: &str, y: &str, lines: &[Drawn<'_>]) -> Result<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let failed = |error| anyhow!("a figure was not drawn: {error:?}");
    chart.configure_mesh().x_desc(x).y_desc(y).light_line_style(WHITE).draw().map_err(failed)?;
    for (index, (name, points, dots)) in lines.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let single = dots.iter().map(|dot| Circle::new(*dot, 2, color.mix(0.35).filled()));
        chart.draw_series(single).map_err(failed)?;
        let medians = points.iter().map(|(x, y)| (*x, y.median));
        chart
            .draw_series(LineSeries::new(medians, color.stroke_width(2)))
            .map_err(failed)?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        let bars = points
            .iter()
            .map(|(x, y)| ErrorBar::new_vertical(*x, y.low, y.median, y.high, color.filled(), 6));
        chart.draw_series(bars).map_err(failed)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .draw()
        .map_err(failed)?;
    Ok(())
}

/// A bar for each name, of parts with names of their own, as shares of one.
pub(crate) fn shares(bars: &[(String, Vec<(String, f64)>)]) -> Result<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in bars.iter().flat_map(|(_, parts)| parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut svg = String::new();
    {
        let height = 90 + 50 * bars.len() as u32;
        let area = SVGBackend::with_string(&mut svg, (860, height)).into_drawing_area();
        let failed = |error| anyhow!("a figure was not drawn: {error:?}");
        area.fill(&WHITE).map_err(failed)?;
        let style = ("sans-serif", 14).into_font();
        let text = |text: &str, x: i32, y: i32| {
            area.draw(&Text::new(text.to_owned(), (x, y), style.clone())).map_err(failed)
        };
        let color = |index: usize| {
            if names[index] == REST {
                RGBColor(225, 225, 225)
            } else {
                COLORS[index % COLORS.len()]
            }
        };
        for (row, (name, parts)) in bars.iter().enumerate() {
            let top = 12 + 50 * row as i32;
            text(name, 8, top + 10)?;
            let mut left = 110.0;
            for (part, share) in parts {
                let index = names.iter().position(|name| name == part).expect("it is one of them");
                let right = left + share * 730.0;
                let corners = [(left as i32, top), (right as i32, top + 36)];
                area.draw(&Rectangle::new(corners, color(index).filled())).map_err(failed)?;
                left = right;
            }
        }
        for (index, name) in names.iter().enumerate() {
            let (x, y) = (
                110 + 185 * (index as i32 % 4),
                50 * bars.len() as i32 + 24 * (index as i32 / 4) + 20,
            );
            let corners = [(x, y), (x + 14, y + 14)];
            area.draw(&Rectangle::new(corners, color(index).filled())).map_err(failed)?;
            text(name, x + 20, y)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// What is no part of its own.
pub(crate) const REST: &str = "outside MPI";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_dots_and_bars_are_drawn() {
        let points = [1.0, 2.0, 4.0].map(|x| (x, Estimate::exact(x * x))).to_vec();
        let lines = [Line { name: "squares".into(), points }];
        let dots = [vec![(1.0, 1.1), (4.0, 90.0)]];
        for logarithmic in [false, true] {
            let svg = figure_with("x", "y", &lines, &Options { logarithmic, dots: &dots }).unwrap();
            assert!(svg.contains("squares") && svg.matches("<circle").count() >= 2, "{svg}");
        }
        let bars = [("p".to_owned(), vec![("MPI_Send".to_owned(), 0.25), (REST.to_owned(), 0.75)])];
        let svg = shares(&bars).unwrap();
        assert!(svg.contains("MPI_Send") && svg.contains(REST));
    }
}
