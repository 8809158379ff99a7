//! Charts: docs/benchmarks.svg has bars of Flux and of Weir, one panel for each kind of cost, docs/benchmarks-growth.svg the cost of one
//! Kustomization among more and more of them.

use std::fmt::Write;

use anyhow::Result;
use weir_testkit::repo_path;

use super::{Phase, Programs, Series};

/// Width of a panel, and of the labels in it, in pixels.
const PANEL: f64 = 430.0;
const LABELS: f64 = 76.0;
/// Longest bar; the rest of the line is for its number.
const BAR: f64 = 280.0;
/// Height of a bar, and of the line with a panel's title.
const LINE: f64 = 15.0;
const TITLE: f64 = 34.0;
/// Space between two rows of bars.
const GAP: f64 = 8.0;

const COLOURS: [(&str, &str); 2] = [(Programs::WEIR, "#1565c0"), (Programs::FLUX, "#b0bec5")];

/// Costs of one kind.
struct Panel {
    title: String,
    /// Label, cost of Weir, cost of Flux.
    rows: Vec<(String, f64, Option<f64>)>,
}

/// Draws the charts that a run has the numbers for.
pub(super) fn draw(all: &[Series]) -> Result<()> {
    draw_beside_flux(all)?;
    draw_growth(all)
}

fn draw_beside_flux(all: &[Series]) -> Result<()> {
    let of = |maker: &'static str| all.iter().filter(move |series| series.maker == maker);
    let Some((weir, flux)) = of(Programs::FLUX)
        .filter(|flux| flux.size.is_some())
        .rev()
        .find_map(|flux| Some((of(Programs::WEIR).find(|weir| weir.title == flux.title)?, flux)))
    else {
        println!("docs/benchmarks.svg stays as it is: it shows Flux too, whose programs are not named.");
        return Ok(());
    };
    std::fs::write(repo_path("docs/benchmarks.svg"), svg(&panels(weir, flux))?)?;
    Ok(())
}

fn draw_growth(all: &[Series]) -> Result<()> {
    let is_of_units = |series: &&Series| series.maker == Programs::WEIR && series.size.is_some();
    let sizes: Vec<&Series> = all.iter().filter(is_of_units).collect();
    if sizes.len() < 3 {
        println!("docs/benchmarks-growth.svg stays as it is: it takes three sizes.");
        return Ok(());
    }
    std::fs::write(repo_path("docs/benchmarks-growth.svg"), svg(&growth(&sizes))?)?;
    Ok(())
}

fn panels(weir: &Series, flux: &Series) -> Vec<Panel> {
    let size = weir.size.unwrap_or_default();
    let panel = |title: String, names: &[&str], cost: &dyn Fn(&Phase) -> f64| {
        let row = |name: &&str| {
            let (weir, flux) = (weir.phase(name)?, flux.phase(name).map(cost));
            Some(((*name).to_owned(), cost(weir), flux))
        };
        Panel { title, rows: names.iter().filter_map(row).collect() }
    };
    let phases = ["install", "upgrade", "resync", "deletion"];
    vec![
        panel(format!("Seconds, {size} Kustomizations"), &phases, &|phase| phase.seconds),
        panel("Requests to the API server, a Kustomization".to_owned(), &phases, &Phase::requests_a_unit),
        panel("CPU-seconds of both services".to_owned(), &phases, &|phase| phase.cpu_seconds),
        panel("Peak MiB of kustomize-controller".to_owned(), &phases, &Phase::kustomize_mebibytes),
    ]
}

/// The costs of one Kustomization among more and more of them: equal bars are good.
fn growth(sizes: &[&Series]) -> Vec<Panel> {
    let panel = |what: &str, phase: &str, cost: &dyn Fn(&Phase) -> f64| {
        let row = |series: &&Series| {
            let (size, phase) = (series.size?, series.phase(phase)?);
            Some((format!("of {size}"), cost(phase), None))
        };
        Panel { title: format!("{what}, {phase} of one"), rows: sizes.iter().filter_map(row).collect() }
    };
    ["install", "upgrade"]
        .into_iter()
        .flat_map(|phase| {
            [
                panel("CPU-milliseconds", phase, &|phase| a_unit(phase, 1000.0 * phase.cpu_seconds)),
                panel("Milliseconds", phase, &|phase| a_unit(phase, 1000.0 * phase.seconds)),
            ]
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn a_unit(phase: &Phase, cost: f64) -> f64 {
    cost / phase.units as f64
}

fn svg(panels: &[Panel]) -> Result<String> {
    let height = |panel: &Panel| {
        let lines: usize = panel.rows.iter().map(|row| 1 + usize::from(row.2.is_some())).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few lines")]
        let (lines, rows) = (lines as f64, panel.rows.len() as f64);
        TITLE + lines * LINE + rows * GAP
    };
    let mut body = String::new();
    let mut top = 30.0;
    for pair in panels.chunks(2) {
        for (column, panel) in [0.0, PANEL].into_iter().zip(pair) {
            writeln!(body, r#"<g transform="translate({:.0} {top:.0})">"#, 10.0 + column)?;
            draw_panel(&mut body, panel)?;
            writeln!(body, "</g>")?;
        }
        top += pair.iter().map(height).fold(0.0, f64::max) + 6.0;
    }
    let width = 2.0 * PANEL + 20.0;
    let mut text = String::new();
    writeln!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {top:.0}" font-family="system-ui, sans-serif" font-size="12">"#
    )?;
    writeln!(text, r##"<rect width="{width:.0}" height="{top:.0}" fill="#ffffff"/>"##)?;
    let makers = if panels.iter().flat_map(|panel| &panel.rows).any(|row| row.2.is_some()) { 2 } else { 1 };
    for (place, (maker, colour)) in [10.0, 80.0].into_iter().zip(COLOURS).take(makers) {
        writeln!(text, r#"<rect x="{place}" y="10" width="12" height="12" fill="{colour}"/>"#)?;
        writeln!(text, r##"<text x="{}" y="20" fill="#222222">{maker}</text>"##, place + 17.0)?;
    }
    writeln!(text, r##"<text x="150" y="20" fill="#666666">shorter is better</text>"##)?;
    text.push_str(&body);
    writeln!(text, "</svg>")?;
    Ok(text)
}

fn draw_panel(text: &mut String, panel: &Panel) -> Result<()> {
    let costs = panel.rows.iter().flat_map(|(_, weir, flux)| [*weir, flux.unwrap_or_default()]);
    let most = costs.fold(f64::MIN_POSITIVE, f64::max);
    writeln!(text, r##"<text y="22" font-weight="600" fill="#222222">{}</text>"##, panel.title)?;
    let mut y = TITLE;
    for (label, weir, flux) in &panel.rows {
        writeln!(text, r##"<text y="{:.0}" fill="#222222">{label}</text>"##, y + 12.0)?;
        for ((_, colour), cost) in COLOURS.into_iter().zip([Some(*weir), *flux]) {
            let Some(cost) = cost else { continue };
            let length = (BAR * cost / most).max(1.0);
            writeln!(
                text,
                r#"<rect x="{LABELS}" y="{y:.0}" width="{length:.1}" height="{:.0}" fill="{colour}"/>"#,
                LINE - 2.0
            )?;
            let number = if cost < 10.0 { format!("{cost:.1}") } else { format!("{cost:.0}") };
            let x = LABELS + length + 5.0;
            writeln!(text, r##"<text x="{x:.1}" y="{:.0}" fill="#444444">{number}</text>"##, y + 11.0)?;
            y += LINE;
        }
        y += GAP;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_that_of_the_largest_cost() {
        let rows = vec![("install".to_owned(), 5.0, Some(20.0)), ("of 10".to_owned(), 10.0, None)];
        let drawn = svg(&[Panel { title: "Seconds".to_owned(), rows }]).unwrap();
        let is_bar = |line: &&str| line.starts_with("<rect x=\"76\"");
        let lengths: Vec<_> =
            drawn.lines().filter(is_bar).filter_map(|line| line.split('"').nth(5)).collect();
        assert_eq!(lengths, ["70.0", "280.0", "140.0"]);
    }
}
