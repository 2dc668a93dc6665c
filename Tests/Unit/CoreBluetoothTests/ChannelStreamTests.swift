import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// L2CAP channels as apps use them: streams in a run loop.
@Suite(.oneByOne) struct ChannelStreamTests {
  let strap: Strap
  let watch: Watch

  init() {
    let radio = Sandbox.radio()
    let name = "Strap \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: name)
    watch = Watch(Sandbox.radio(), for: name)
  }

  /// Publishes, connects and opens.
  private func open(encrypted: Bool = false) async throws -> (near: Side, far: Side) {
    try await watch.getReady()
    strap.manager.publishL2CAPChannel(withEncryption: encrypted)
    let psm = try #require(UInt16(try await strap.log.next("published ").dropFirst(10)))
    #expect((0x80...0xFF).contains(psm))
    try watch.peripheral.openL2CAPChannel(psm)
    #expect(try await watch.log.next("channel") == "channel \(psm) well")
    #expect(try await strap.log.next("channel") == "channel \(psm) well")
    let near = try #require(watch.channel.value)
    let far = try #require(strap.channel.value)
    #expect(try near.peer === watch.peripheral && far.peer is CBCentral)
    #expect(near.psm == psm && far.psm == psm)
    return (Side(near), Side(far))
  }

  @Test(.timeLimit(.minutes(5))) func aMegabyteEachWayOverStreams() async throws {
    let (near, far) = try await open()
    let there = Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    let back = Data(there.reversed())
    near.send(there)
    far.send(back)
    try await near.log.next("received 1048576")
    try await far.log.next("received 1048576")
    #expect(far.received.value == there)
    #expect(near.received.value == back)
    #expect(near.log.all.first == "opened" && far.log.all.first == "opened")
    near.close()
    try await far.log.next("end")
    #expect(far.channel.inputStream.streamStatus == .atEnd)
    #expect(near.channel.inputStream.streamStatus == .closed)
  }

  @Test(.timeLimit(.minutes(5))) func sendsWrittenDataAfterClosing() async throws {
    let (near, far) = try await open(encrypted: true)
    near.send(Data([1, 2, 3]), closing: true)
    try await far.log.next("received 3")
    try await far.log.next("end")
    #expect(far.received.value == Data([1, 2, 3]))
  }

  @Test(.timeLimit(.minutes(5))) func vanishingPeerEndsTheStreams() async throws {
    let (near, far) = try await open()
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await far.log.next("end")
    try await near.log.next("end")
    var octet: UInt8 = 0
    #expect(near.channel.inputStream.read(&octet, maxLength: 1) == 0)
    #expect(near.channel.outputStream.write(&octet, maxLength: 1) == -1)
  }

  @Test(.timeLimit(.minutes(5))) func refusedAndUnpublished() async throws {
    try await watch.getReady()
    try watch.peripheral.openL2CAPChannel(0x90)
    #expect(try await watch.log.next("channel") == "channel CBError 1")
    strap.manager.publishL2CAPChannel(withEncryption: false)
    let psm = try #require(UInt16(try await strap.log.next("published ").dropFirst(10)))
    strap.manager.unpublishL2CAPChannel(psm)
    #expect(try await strap.log.next("unpublished") == "unpublished \(psm) well")
    strap.manager.unpublishL2CAPChannel(psm)
    #expect(try await strap.log.next("unpublished") == "unpublished \(psm) CBError 1")
    try watch.peripheral.openL2CAPChannel(psm)
    #expect(try await watch.log.next("channel") == "channel CBError 1")
  }
}

/// Published channels and their ends.
@Suite(.oneByOne) struct ChannelPublicationTests {
  let strap: Strap
  let watch: Watch
  let radio = Sandbox.radio()
  let identifier: String

  init() {
    identifier = "Publisher \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: identifier)
    watch = Watch(Sandbox.radio(), for: identifier)
  }

  /// As with Apple's framework: no more channels are accepted, and open ones end.
  @Test(.timeLimit(.minutes(5))) func unpublishingEndsOpenChannels() async throws {
    try await watch.getReady()
    strap.manager.publishL2CAPChannel(withEncryption: false)
    strap.manager.publishL2CAPChannel(withEncryption: false)
    let one = try #require(UInt16(try await strap.log.next("published ").dropFirst(10)))
    let other = try #require(UInt16(try await strap.log.next("published ").dropFirst(10)))
    #expect(one != other)
    var sides: [(near: Side, far: Side)] = []
    for psm in [one, other] {
      try watch.peripheral.openL2CAPChannel(psm)
      #expect(try await watch.log.next("channel") == "channel \(psm) well")
      #expect(try await strap.log.next("channel") == "channel \(psm) well")
      sides.append(
        (Side(try #require(watch.channel.value)), Side(try #require(strap.channel.value))))
    }
    sides[0].near.send(Data([1, 2, 3]))
    try await sides[0].far.log.next("received 3")
    strap.manager.unpublishL2CAPChannel(one)
    #expect(try await strap.log.next("unpublished") == "unpublished \(one) well")
    try await sides[0].near.log.next("end")
    try await sides[0].far.log.next("end")
    // The other one is not affected.
    sides[1].near.send(Data([4, 5]))
    try await sides[1].far.log.next("received 2")
  }

  /// The end of the publication is reported, and the app can publish again.
  @Test(arguments: [CBManagerState.poweredOff, .resetting])
  func poweringOffEndsChannels(_ state: CBManagerState) async throws {
    try await strap.log.next("advertising begun")
    strap.manager.publishL2CAPChannel(withEncryption: false)
    strap.manager.publishL2CAPChannel(withEncryption: false)
    let first = try await strap.log.next("published ").dropFirst(10)
    let second = try await strap.log.next("published ").dropFirst(10)
    let radio = try #require(await strap.manager.engine.radio)
    await radio.set(state)
    try await strap.log.next("state \(state)")
    #expect(try await strap.log.next("unpublished") == "unpublished \(first) CBError 5")
    #expect(try await strap.log.next("unpublished") == "unpublished \(second) CBError 5")
    strap.restored.value = [strap.service]  // Once is enough: nothing is added again.
    await radio.set(.poweredOn)
    try await strap.log.next("state poweredOn")
    strap.manager.publishL2CAPChannel(withEncryption: false)
    #expect(try await strap.log.next("published ").dropFirst(10) == first)
    strap.restored.value = []
  }

  /// A publication that is requested while the radio is switched off has its callback.
  @Test func publishingDuringPowerOff() async throws {
    try await strap.log.next("advertising begun")
    let radio = try #require(await strap.manager.engine.radio)
    let manager = UncheckedBox(strap.manager!)
    await Task { @RadioLoop in
      manager.content.publishL2CAPChannel(withEncryption: false)
      radio.set(.poweredOff)
    }.value
    #expect(try await strap.log.next("published") == "published 0 CBError 5")
    #expect(!strap.log.all.contains { $0.hasPrefix("unpublished") })
    // While the radio is off, the command is ignored without a callback.
    strap.manager.publishL2CAPChannel(withEncryption: false)
    strap.manager.unpublishL2CAPChannel(0x80)
    await Task { @RadioLoop in await Task.yield() }.value
    #expect(strap.log.all.filter { $0.hasPrefix("published") }.count == 1)
  }

  /// Apple's restoration has no key for channels: the app publishes again.
  @Test func publicationsAreNotRestored() async throws {
    let other = Sandbox.radio()
    let name = "Restored channels"
    var kept: Strap? = Strap(other, name: name, restoring: name)
    try await kept!.log.next("advertising begun")
    kept!.manager.publishL2CAPChannel(withEncryption: false)
    let psm = try #require(UInt16(try await kept!.log.next("published ").dropFirst(10)))
    for _ in 0..<5 { await Task { @RadioLoop in await Task.yield() }.value }
    let key = SavedState.Key(kind: .peripheral, name: name)
    let data = try #require(SavedState.shared.read(key))
    // Releasing the manager removes the state; killing the process would not.
    kept!.release()
    kept = nil
    while SavedState.shared.read(key) != nil { await Task.yield() }
    SavedState.shared.write(data, to: key)
    let again = Strap(other, name: name, restoring: name)
    try await again.log.next("state poweredOn")
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    try watch.peripheral.openL2CAPChannel(psm)
    #expect(try await watch.log.next("channel") == "channel CBError 1")
    #expect(!again.log.all.contains { $0.hasPrefix("published") })
    again.manager.publishL2CAPChannel(withEncryption: false)
    #expect(try await again.log.next("published") == "published \(psm)")
  }
}

/// One end of a channel, in the run loop of a thread, as in an app.
final class Side: NSObject, StreamDelegate, @unchecked Sendable {
  let channel: CBL2CAPChannel
  let log = EventLog()
  let received = Locked(Data())
  private let unsent = Locked(Data())
  private let isClosing = Locked(false)

  init(_ channel: CBL2CAPChannel) {
    self.channel = channel
    super.init()
    Thread { [self] in
      let channel = self.channel
      for stream in [channel.inputStream!, channel.outputStream!] as [Foundation.Stream] {
        stream.delegate = self
        stream.schedule(in: .current, forMode: .default)
        stream.open()
      }
      while channel.inputStream.streamStatus != .closed,
        RunLoop.current.run(mode: .default, before: .distantFuture)
      {}
    }.start()
  }

  func send(_ data: Data, closing: Bool = false) {
    isClosing.value = closing
    unsent.value = data
    // On another thread than the run loop's, where hasSpaceAvailable is not used.
    flush()
  }

  func close() {
    channel.inputStream.close()
    channel.outputStream.close()
  }

  private func flush() {
    unsent.withLock { data in
      while !data.isEmpty, channel.outputStream.hasSpaceAvailable {
        let count = data.withUnsafeBytes {
          channel.outputStream.write(
            $0.bindMemory(to: UInt8.self).baseAddress!, maxLength: $0.count)
        }
        guard count > 0 else { return }
        data = Data(data.dropFirst(count))
      }
    }
    if isClosing.value, unsent.value.isEmpty, channel.outputStream.streamStatus == .open { close() }
  }

  func stream(_ stream: Foundation.Stream, handle event: Foundation.Stream.Event) {
    switch event {
    case .openCompleted: log.add("opened")
    case .hasBytesAvailable:
      var piece = [UInt8](repeating: 0, count: 1000)
      let count = channel.inputStream.read(&piece, maxLength: piece.count)
      guard count > 0 else { return log.add("read \(count)") }
      let total = received.withLock { data in
        data.append(contentsOf: piece[..<count])
        return data.count
      }
      log.add("received \(total)")
    case .hasSpaceAvailable: flush()
    case .endEncountered: if stream === channel.inputStream { log.add("end") }
    default: log.add("error \(stream.streamError.map { "\($0)" } ?? "")")
    }
  }
}
