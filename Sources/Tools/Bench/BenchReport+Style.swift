extension BenchReport {
  /// The style of the page. Charts are beside each other where there is room.
  static let style = """
    :root{--bg:#fff;--fg:#1b1f24;--soft:#5b6470;--line:#d9dee4;--card:#f5f7f9;--mark:#2463c4;
    --fill:#2463c433;--second:#a84c06;--bad:#b3261e}
    @media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--soft:#9aa4af;
    --line:#343b43;--card:#1d2126;--mark:#79aefc;--fill:#79aefc40;--second:#f0a35e;--bad:#ff8f87}}
    body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
    main{max-width:62rem;margin:0 auto;padding:1rem}
    h1{font-size:1.4rem;margin:0;overflow-wrap:anywhere} h2{font-size:1.15rem;margin:2rem 0 .5rem}
    h3{font-size:.95rem;color:var(--soft);font-weight:600;margin:1.2rem 0 .3rem;
    overflow-wrap:anywhere}
    .sub{color:var(--soft);margin:.2rem 0 .6rem;overflow-wrap:anywhere}
    .command{background:var(--card);border-radius:.5rem;padding:.5rem .7rem;font-size:.85rem;
    white-space:pre-wrap;overflow-wrap:anywhere}
    section{border-top:1px solid var(--line);margin-top:1.5rem}
    .scroll{overflow-x:auto;background:
    linear-gradient(to right,var(--bg) 40%,transparent) 0 0/2.5rem 100% no-repeat local,
    linear-gradient(to left,var(--bg) 40%,transparent) 100% 0/2.5rem 100% no-repeat local,
    linear-gradient(to right,var(--line),transparent) 0 0/.8rem 100% no-repeat,
    linear-gradient(to left,var(--line),transparent) 100% 0/.8rem 100% no-repeat}
    table{border-collapse:collapse;font-variant-numeric:tabular-nums}
    th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);
    white-space:nowrap}
    th:first-child,td:first-child{text-align:left;padding-left:0} th{color:var(--soft);
    font-weight:600;font-size:.85rem}
    .tiles{display:flex;flex-wrap:wrap;gap:.6rem}
    .tile{background:var(--card);border-radius:.5rem;padding:.5rem .8rem;min-width:5rem}
    .tile b{display:block;font-size:1.2rem;font-variant-numeric:tabular-nums}
    .tile span{color:var(--soft);font-size:.85rem}
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));
    gap:0 1.5rem}
    .key{margin:.8rem 0 0;color:var(--soft);font-size:.9rem}
    .key span{border-top:3px solid var(--mark);margin-right:1rem;padding-top:.1rem}
    .key .was{border-top:3px dashed var(--fg)}
    dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:1rem 0}
    dt{color:var(--soft)} dd{margin:0;overflow-wrap:anywhere}
    @media(max-width:32rem){dl{grid-template-columns:1fr}dd{margin:0 0 .4rem}}
    .partial{color:var(--bad);font-weight:600;overflow-wrap:anywhere}
    svg{width:100%;max-width:40rem;height:auto;display:block}
    svg text{fill:var(--soft);font:14px system-ui,sans-serif}
    svg .grid{stroke:var(--line)} svg .line{stroke:var(--mark);fill:none;stroke-width:1.8}
    svg .area{fill:var(--fill)} svg .bar{fill:var(--mark)}
    svg .past{stroke:var(--fg);fill:none;stroke-width:1.4;stroke-dasharray:5 3}
    svg .mark{stroke:var(--second);stroke-dasharray:2 2}
    svg .name{fill:var(--second);stroke:var(--bg);stroke-width:3px;paint-order:stroke}
    """
}
