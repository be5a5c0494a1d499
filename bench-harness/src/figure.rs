//! Figures as SVG.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::sample::Estimate;

/// A line of a figure.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, Estimate)>,
}

/// Colours that are told apart also by those who see few.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];

/// Lines with the intervals of their points.
pub(crate) fn figure(x: &str, y: &str, lines: &[Line]) -> Result<String> {
    let finite = |line: &&Line| line.points.iter().all(|(_, y)| y.median.is_finite());
    let lines: Vec<&Line> = lines.iter().filter(finite).collect();
    let all = || lines.iter().flat_map(|line| &line.points);
    let extreme = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = extreme(&mut all().map(|(x, _)| *x));
    let (bottom, top) = extreme(&mut all().flat_map(|(_, y)| [y.low, y.high]));
    if left > right {
        return Ok(String::new());
    }
    let margin = ((top - bottom) * 0.05).max(top.abs() * 0.01).max(f64::MIN_POSITIVE);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (860, 420)).into_drawing_area();
        let failed = |error| anyhow!("a figure was not drawn: {error:?}");
        area.fill(&WHITE).map_err(failed)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(70)
            .build_cartesian_2d(left..right.max(left + 1.0), bottom - margin..top + margin)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .x_desc(x)
            .y_desc(y)
            .light_line_style(WHITE)
            .draw()
            .map_err(failed)?;
        for (index, line) in lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let points = line.points.iter().map(|(x, y)| (*x, y.median));
            chart
                .draw_series(LineSeries::new(points, color.stroke_width(2)))
                .map_err(failed)?
                .label(&line.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2))
                });
            let bars = line.points.iter().map(|(x, y)| {
                ErrorBar::new_vertical(*x, y.low, y.median, y.high, color.filled(), 6)
            });
            chart.draw_series(bars).map_err(failed)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(RGBColor(200, 200, 200))
            .draw()
            .map_err(failed)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}
