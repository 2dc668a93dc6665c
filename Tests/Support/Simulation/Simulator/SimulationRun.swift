/// Runs seeds and minimizes failing ones.
public enum SimulationRun {
  /// Minimizes a plan that violates a rule: fewer devices, actions and hazards that still violate
  /// it. Takes at most `limit` runs.
  public static func shrink(_ violation: SimulationViolation, limit: Int = 400)
    -> SimulationViolation
  {
    var best = violation
    var runs = 0
    func holds(_ plan: SimulationPlan) -> Bool {
      guard runs < limit, plan != best.plan else { return false }
      runs += 1
      guard let found = Simulator(plan).run(), found.rule == violation.rule else { return false }
      best = found
      return true
    }
    var goesOn = true
    while goesOn, runs < limit {
      goesOn = false
      for (_, hazard) in SimulationPlan.Hazards.names where best.plan.hazards.contains(hazard) {
        var plan = best.plan
        plan.hazards.remove(hazard)
        if holds(plan) { goesOn = true }
      }
      if best.plan.devices > 2 {
        var plan = best.plan
        plan.devices -= 1
        if holds(plan) { goesOn = true }
      }
      for less in [best.plan.actions / 2, best.plan.actions / 4, 1] where less > 0 {
        var plan = best.plan
        plan.actions -= less
        guard plan.actions > 0 else { continue }
        if holds(plan) {
          goesOn = true
          break
        }
      }
    }
    return best
  }

  /// The last lines of the transcript of a run.
  public static func transcript(of plan: SimulationPlan, last: Int = 200) -> [String] {
    let simulator = Simulator(plan, transcript: true)
    _ = simulator.run()
    return Array(simulator.transcript.suffix(last))
  }
}
