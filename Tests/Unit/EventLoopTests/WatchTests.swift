import CAttoLinux
import Glibc
import TestSupport
import Testing

@testable import AttoEventLoop

@Suite("Watches", .timeLimit(.minutes(5)), .oneByOne)
struct WatchTests {
  @Test("An edge is reported once; rescheduling reports it again without a new event")
  func edge() throws {
    let loop = try Loop(name: "edge")
    let told = Box<[Readiness]>([])
    let inTime = try loop.run {
      let pair = try Pair()
      let id = Box<WatchID?>(nil)
      pair.send(to: pair.b)
      let handler = OnReady()
      handler.body = { readiness in
        told.value.append(readiness)
        switch told.value.count {
        case 1:
          // Not drained: an edge does not come back by itself.
          loop.execute {
            loop.execute { loop.reschedule(id.value!, .readable) }
          }
        case 2: pair.send(to: pair.b)
        default:
          loop.unwatch(id.value!)
          loop.stop()
        }
      }
      id.value = try loop.watch(pair.a, handler)
    }
    #expect(inTime)
    #expect(told.value == [[.readable, .writable], .readable, [.readable, .writable]])
  }

  @Test("Readiness that is marked twice in a turn is reported once")
  func united() throws {
    let loop = try Loop(name: "united")
    let told = Box<[Readiness]>([])
    let inTime = try loop.run {
      let pair = try Pair()
      let id = Box<WatchID?>(nil)
      id.value = try loop.watch(
        pair.a,
        OnReady {
          told.value.append($0)
          loop.unwatch(id.value!)
          loop.stop()
          _ = pair
        })
      loop.reschedule(id.value!, .hangup)
      loop.reschedule(id.value!, .error)
    }
    #expect(inTime)
    #expect(told.value == [[.hangup, .error, .writable]])
  }

  @Test("An event that was polled before its watch ended does not reach the reused slot")
  func stale() throws {
    let loop = try Loop(name: "stale")
    let wrong = Box(0)
    let right = Box(0)
    let inTime = try loop.run {
      // Both become ready in one poll. The first handler ends the other's watch and watches a third
      // descriptor, which gets the other's slot.
      let first = try Pair()
      let second = try Pair()
      let third = try Pair()
      let ids = Box<[WatchID]>([])
      let newcomer = OnReady { readiness in
        // Its own first report is writable only; the other's would be readable.
        if readiness.contains(.readable) { wrong.value += 1 } else { right.value += 1 }
        loop.stop()
        _ = (first, second, third)
      }
      func handler(_ other: Int) -> OnReady {
        OnReady { readiness in
          guard readiness.contains(.readable) else { return }
          let old = ids.value[other]
          loop.unwatch(old)
          guard let new = try? loop.watch(third.a, newcomer) else { return loop.stop() }
          #expect(new.token & 0xFFFF_FFFF == old.token & 0xFFFF_FFFF)
          #expect(new != old)
        }
      }
      ids.value.append(try loop.watch(first.a, handler(1)))
      ids.value.append(try loop.watch(second.a, handler(0)))
      first.send(to: first.b)
      second.send(to: second.b)
    }
    #expect(inTime)
    #expect(wrong.value == 0)
    #expect(right.value == 1)
  }

  @Test("A handler may end its own watch and watch again")
  func reentrant() throws {
    let loop = try Loop(name: "reentrant")
    let calls = Box(0)
    let inTime = try loop.run {
      let pair = try Pair()
      let id = Box<WatchID?>(nil)
      let handler = OnReady()
      handler.body = { _ in
        calls.value += 1
        loop.unwatch(id.value!)
        loop.unwatch(id.value!)
        // An ID that has ended does nothing.
        loop.reschedule(id.value!, .readable)
        guard calls.value < 100 else {
          handler.body = { _ in }
          return loop.stop()
        }
        id.value = try? loop.watch(pair.a, handler)
        if id.value == nil { loop.stop() }
      }
      id.value = try loop.watch(pair.a, handler)
    }
    #expect(inTime)
    #expect(calls.value == 100)
  }

  @Test("A level is reported in every turn until it is drained")
  func level() throws {
    let loop = try Loop(name: "level")
    let calls = Box(0)
    let inTime = try loop.run {
      let pair = try Pair()
      for _ in 0..<5 { pair.send(to: pair.b) }
      var byte: UInt8 = 0
      _ = try loop.watch(
        pair.a, trigger: .level,
        OnReady { readiness in
          #expect(readiness == .readable)
          calls.value += 1
          #expect(clinux_receive(pair.a, &byte, 1) == 1)
          if calls.value == 5 {
            loop.execute { loop.execute { loop.stop() } }
          }
        })
    }
    #expect(inTime)
    #expect(calls.value == 5)
  }

  @Test("A regular file is readable in every turn with level, and refused with edge")
  func regularFile() throws {
    let loop = try Loop(name: "file")
    let calls = Box(0)
    let inTime = try loop.run {
      let file = open("/proc/self/exe", O_RDONLY)
      #expect(throws: LoopError.self) { try loop.watch(file, OnReady()) }
      let id = Box<WatchID?>(nil)
      id.value = try loop.watch(
        file, trigger: .level,
        OnReady { _ in
          calls.value += 1
          guard calls.value == 3 else { return }
          loop.unwatch(id.value!)
          loop.execute { loop.stop() }
        })
    }
    #expect(inTime)
    #expect(calls.value == 3)
  }

  @Test("A full socket is reported as writable, once, when its peer has made room")
  func writable() throws {
    let loop = try Loop(name: "writable")
    let told = Box<[Readiness]>([])
    let inTime = try loop.run {
      let pair = try Pair()
      _ = try loop.watch(
        pair.a,
        OnReady { readiness in
          told.value.append(readiness)
          switch told.value.count {
          case 1:
            while clinux_send(pair.a, [1], 1) == 1 {}
            loop.execute { while Pair.drain(pair.b) > 0 {} }
          default:
            // Nothing more comes within the next turns.
            loop.schedule(at: loop.now + 20_000_000, OnTimer { _ in loop.stop() })
          }
        })
    }
    #expect(inTime)
    #expect(told.value == [.writable, .writable])
  }

  @Test("A hang-up is reported together with what is left to read")
  func hangup() throws {
    let loop = try Loop(name: "hangup")
    let told = Box<Readiness>([])
    let inTime = try loop.run {
      let pair = try Pair()
      pair.send(to: pair.b)
      shutdown(pair.b, Int32(SHUT_RDWR))
      _ = try loop.watch(
        pair.a,
        OnReady {
          told.value = $0
          loop.stop()
          _ = pair
        })
    }
    #expect(inTime)
    #expect(told.value.isSuperset(of: [.readable, .hangup]))
  }

  @Test("Errors name the descriptor, the cause and the remedy")
  func errors() throws {
    let loop = try Loop(name: "errors")
    let texts = Box<[String]>([])
    let inTime = try loop.run {
      let pair = try Pair()
      _ = try loop.watch(pair.a, OnReady { _ in _ = pair })
      for descriptor in [pair.a, 999_999] {
        do throws(LoopError) {
          _ = try loop.watch(descriptor, OnReady())
        } catch {
          texts.value.append("\(error.errno) \(error)")
        }
      }
      loop.stop()
    }
    #expect(inTime)
    try #require(texts.value.count == 2)
    #expect(texts.value[0].contains("File exists; it is watched already"))
    #expect(texts.value[1].hasPrefix("9 cannot watch descriptor 999999: Bad file descriptor"))
  }

  @Test("400 descriptors, each reported once for each PDU")
  func many() throws {
    let loop = try Loop(name: "many")
    let received = Box(0)
    let inTime = try loop.run {
      let pairs = try (0..<400).map { _ in try Pair() }
      for pair in pairs {
        _ = try loop.watch(
          pair.a,
          OnReady { readiness in
            guard readiness.contains(.readable) else { return }
            received.value += Pair.drain(pair.a)
            if received.value == 400 * 10 { loop.stop() }
          })
      }
      loop.execute {
        for _ in 0..<10 { for pair in pairs { pair.send(to: pair.b) } }
      }
    }
    #expect(inTime)
    #expect(received.value == 4000)
  }
}
