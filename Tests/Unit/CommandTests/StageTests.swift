import AttoLinks
import TestSupport
import Testing

@testable import Atto
@testable import AttoBench

@Suite("Stages", .oneByOne) struct StageTests {
  private let all: KernelStamps = [.arrived, .given, .completed]

  private func trip(
    _ call: Int64, _ given: Int64?, _ completed: Int64?, _ kernel: Int64?, _ program: Int64
  ) -> TimedExchange {
    .roundTrip(
      sent: .init(call: call, given: given, completed: completed),
      response: .init(kernel: kernel, program: program))
  }

  /// The sum of each stage in microseconds.
  private func sums(_ times: StageTimes) -> [Stage: Double] {
    var sums: [Stage: Double] = [:]
    for (stage, sum) in zip(times.stages, times.sums) { sums[stage] = sum / 1000 }
    return sums
  }

  @Test("With all stamps of the kernel, a round trip has six stages that add up")
  func whole() {
    var times = StageTimes(all, isRadio: true, of: .roundTrip)
    for _ in 0..<3 {
      times.add(trip(110_000, 130_000, 930_000, 1_000_000, 1_040_000), from: 100_000, to: 1_100_000)
    }
    #expect(
      sums(times)
        == [
          .queue: 30, .kernel: 60, .controller: 2400, .peer: 210, .delivery: 120, .application: 180,
        ])
    #expect(times.count == 3 && times.leftOut == 0 && times.missing.isEmpty)
    let stages = BenchStages(times, interval: 30_000)
    #expect(abs(stages.parts.reduce(0) { $0 + $1.share } - 1) < 0.001)
    #expect(
      stages.summary
        == "80.0 % of the time is spent in the controller and on the air, at a connection interval of 30 ms"
    )
    #expect(stages.missing == nil && stages.isPlausible)
  }

  @Test("Without stamps of sent PDUs, or without any, stages are missing")
  func fewer() {
    var received = StageTimes(.arrived, isRadio: true, of: .roundTrip)
    received.add(trip(110_000, nil, nil, 1_000_000, 1_040_000), from: 100_000, to: 1_100_000)
    #expect(sums(received) == [.queue: 10, .away: 890, .delivery: 40, .application: 60])
    #expect(received.missing == [.kernel, .controller, .peer])
    #expect(received.reason.contains("Linux 6.15"))
    var none = StageTimes([], isRadio: false, of: .roundTrip)
    none.add(trip(110_000, nil, nil, nil, 1_040_000), from: 100_000, to: 1_100_000)
    #expect(sums(none) == [.queue: 10, .outside: 930, .application: 60])
    #expect(none.missing == [.kernel, .controller, .peer, .delivery])
    let stages = BenchStages(none, interval: nil)
    #expect(stages.summary == "93.0 % of the time is spent in the socket and at the peer")
    #expect(
      stages.remarks.first
        == "stages not known: kernel, controller, peer, delivery, because the kernel stamps PDUs of its own"
        + " radios only")
  }

  @Test("A value has the end of its way only")
  func values() {
    var times = StageTimes(all, isRadio: true, of: .value)
    times.add(value: .value(.init(kernel: 5000, program: 9000)), to: 10_000)
    #expect(sums(times) == [.delivery: 4, .application: 1])
    #expect(times.missing.isEmpty)
    let stages = BenchStages(times, interval: 30_000)
    #expect(stages.summary?.contains("clocks of two machines") == true)
    var none = StageTimes([], isRadio: false, of: .value)
    none.add(value: .value(.init(program: 9000)), to: 10_000)
    #expect(sums(none) == [.application: 1] && none.missing == [.delivery])
  }

  @Test("A command has the stages until it is completed, or the time until the link took it")
  func commands() {
    var times = StageTimes(all, isRadio: true, of: .command)
    times.add(command: .init(call: 20_000, given: 50_000, completed: 1_100_000), from: 0)
    times.add(command: .init(call: 20_000, given: 50_000), from: 0)
    #expect(sums(times) == [.queue: 20, .kernel: 30, .controller: 1050])
    #expect((times.count, times.leftOut) == (1, 1) && times.missing.isEmpty)
    let stages = BenchStages(times, interval: 30_000)
    #expect(stages.summary?.hasPrefix("95.5 % of the time is spent in the controller") == true)
    var none = StageTimes(.arrived, isRadio: true, of: .command)
    none.add(commandFrom: 0, to: 8000)
    #expect(sums(none) == [.queue: 8] && none.missing == [.kernel, .controller])
  }

  @Test("Commands are told apart by their order: those of the warm-up do not count, late ones do")
  func orderOfCommands() {
    let measured = Measurement(BenchTest.writeCommand.workload)
    measured.stages = StageTimes(all, isRadio: true, of: .command)
    // One that is not awaited is somebody else's.
    measured.took(.command(.init(call: 1, given: 2, completed: 3)))
    measured.stages?.commandBegins()
    measured.begin(pdus: 0)
    measured.stages?.commandBegins()
    measured.stages?.commandBegins()
    let later = measured.start + 3_600_000_000_000
    for number in 0..<3 {
      if number == 2 { measured.end(pdus: 0) }
      #expect(measured.stages?.awaitsCommands == true)
      measured.took(.command(.init(call: later, given: later + 1000, completed: later + 2000)))
    }
    #expect(measured.stages?.awaitsCommands == false)
    #expect((measured.stages?.count, measured.stages?.leftOut) == (2, 0))
  }

  @Test("An operation without a moment, or with one in the wrong order, is left out as a whole")
  func leftOut() {
    var times = StageTimes(all, isRadio: true, of: .roundTrip)
    times.add(nil, from: 0, to: 1)
    times.add(.value(.init(program: 0)), from: 0, to: 1)
    times.add(trip(1, 2, nil, 4, 5), from: 0, to: 6)
    times.add(trip(1, nil, 3, 4, 5), from: 0, to: 6)
    // Completed after the response; a wall clock that was set.
    times.add(trip(10_000, 20_000, 50_000, 40_000, 60_000), from: 0, to: 70_000)
    times.add(trip(10_000, 20_000, 30_000, -9_000_000, 60_000), from: 0, to: 70_000)
    #expect(times.count == 0 && times.leftOut == 6 && sums(times).values.allSatisfy { $0 == 0 })
    // The stamps are moved between two clocks.
    times.add(trip(10_000, 9500, 30_000, 29_500, 60_000), from: 0, to: 70_000)
    #expect(times.count == 1 && sums(times)[.kernel] == 0 && sums(times)[.peer] == 0)
    #expect(sums(times).values.reduce(0, +) == 70)
    let stages = BenchStages(times, interval: nil)
    #expect(stages.remarks.first?.hasPrefix("6 of 7 operations left out") == true)
  }
}
