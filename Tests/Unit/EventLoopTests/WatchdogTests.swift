#if DEBUG
  import TestSupport
  import Testing

  @testable import AttoEventLoop

  /// The report of handlers that block a loop. Time is the test's.
  @Suite("Watchdog", .timeLimit(.minutes(5)), .oneByOne)
  struct WatchdogTests {
    private struct Clock {
      var time: Int64 = 1
      var delay: Int64 = 0
    }

    /// Runs handlers of one turn, each of which takes so long and has no processor for a part of it.
    private func reports(_ handlers: [(time: Int64, delay: Int64)]) throws -> [String] {
      let loop = try Loop(name: "watched")
      let clock = Box(Clock())
      let reports = Box<[String]>([])
      loop.watchdog.time = { clock.value.time }
      loop.watchdog.delay = { clock.value.delay }
      loop.watchdog.report = { reports.value.append($0) }
      let inTime = try loop.run {
        for handler in handlers {
          loop.schedule(
            at: loop.now,
            OnTimer { _ in
              clock.value.time += handler.time * 1_000_000
              clock.value.delay += handler.delay * 1_000_000
            })
        }
        loop.schedule(at: loop.now + 1, OnTimer { _ in loop.stop() })
      }
      #expect(inTime)
      return reports.value
    }

    @Test("A handler over 50 ms is reported with its kind, unless the thread had no processor")
    func handlers() throws {
      #expect(
        try reports([(1, 0), (80, 0), (2, 0)]) == [
          "event loop watched was blocked for 80 ms by OnTimer, whose timer fired"
        ])
      #expect(try reports([(50, 0)]) == [])
      // A busy machine.
      #expect(try reports([(400, 380), (30, 0)]) == [])
      #expect(try reports([(400, 340)]).count == 1)
      // A kernel that does not count.
      #expect(try reports([(0, -1), (400, 0)]) == [])
    }

    @Test("A report names its program")
    func program() {
      let path = CommandLine.arguments.first
      #expect(LoopWatchdog.line("text", of: "/usr/bin/strap") == "strap: text\n")
      #expect(LoopWatchdog.line("text", of: nil) == "text\n")
      #expect(LoopWatchdog.line("text", of: path).hasSuffix(": text\n"))
    }

    @Test("Many short handlers in one turn are reported as a turn")
    func turns() throws {
      #expect(
        try reports([(20, 0), (20, 0), (20, 0)]) == [
          "event loop watched was blocked for 60 ms by a turn of many handlers"
        ])
      // The longest was reported by itself.
      #expect(try reports([(20, 0), (60, 0), (20, 0)]).count == 1)
    }

    @Test("Each way to be called is named") func kinds() throws {
      let loop = try Loop(name: "kinds")
      let clock = Box(Clock())
      let reports = Box<[String]>([])
      loop.watchdog.time = { clock.value.time }
      loop.watchdog.delay = { 0 }
      loop.watchdog.report = { reports.value.append(String($0.split(separator: " by ")[1])) }
      let pair = try Pair()
      pair.send(to: pair.b)
      let inTime = try loop.run {
        @Sendable func block() { clock.value.time += 60_000_000 }
        var watch: WatchID?
        watch = try? loop.watch(
          pair.a,
          OnReady { _ in
            block()
            if let watch { loop.unwatch(watch) }
            loop.execute {
              block()
              loop.atEndOfTurn(
                OnTurn {
                  block()
                  loop.stop()
                })
            }
          })
      }
      #expect(inTime)
      #expect(
        Set(reports.value) == [
          "OnReady, whose descriptor was ready", "a task, an actor or a closure",
          "OnTurn at the end of the turn",
        ])
    }
  }
#endif
