import AttoATT
import AttoLinks
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// Frames and events, valid and malformed.
@Suite(.oneByOne) struct ManagementFrameTests {
  static let peer = BluetoothAddress("00:AA:01:01:00:01")!
  static let peerOctets: [UInt8] = [0x01, 0x00, 0x01, 0x01, 0xAA, 0x00, 0x01]

  /// Events of every kind and their octets.
  static let events: [(UInt16, [UInt8], ManagementEvent)] = [
    (0x0001, [0x05, 0x00, 0x00, 0x01, 0x02], .answered(0x0005, .success, [1, 2])),
    (0x0002, [0x23, 0x00, 0x0A], .answered(0x0023, .busy, [])),
    (0x0006, [0x11, 0x02, 0x00, 0x00], .newSettings([.powered, .bondable, .le])),
    (0x000B, peerOctets + [0, 0, 0, 0, 2, 0, 9, 8], .deviceConnected(peer)),
    (0x000C, peerOctets + [0x03], .deviceDisconnected(peer, reason: 3)),
    (
      0x000F, peerOctets + [0, 0x40, 0xE2, 0x01, 0x00],
      .confirmationRequest(peer, isJustWorks: false, value: 123_456)
    ),
    (0x0010, peerOctets, .passkeyRequest(peer)),
    (0x0011, peerOctets + [5], .authenticationFailed(peer, .authenticationFailed)),
    (
      0x0012, peerOctets + [0xCE, 0x20, 0, 0, 0, 3, 0, 2, 1, 6],
      .deviceFound(.init(address: peer, rssi: -50, flags: 0x20, data: [2, 1, 6]))
    ),
    (0x0013, [6, 1], .discovering(true)),
    (
      0x0017, peerOctets + [1, 0, 0, 0, 2],
      .passkeyNotification(peer, passkey: 1, entered: 2)
    ),
    (0x0024, [7], .advertisingRemoved(7)),
    (0x002C, [3, 0], .monitorRemoved(3)),
    (
      0x002F, [3, 0] + peerOctets + [0xCE, 0x04, 0, 0, 0, 3, 0, 2, 1, 6],
      .deviceFound(.init(address: peer, rssi: -50, flags: 0x04, data: [2, 1, 6]))
    ),
  ]

  @Test(arguments: events)
  func decodes(_ code: UInt16, _ parameters: [UInt8], _ wanted: ManagementEvent) {
    #expect(ManagementEvent(ManagementFrame(code: code, index: 0, parameters)) == wanted)
    // Octets that a newer kernel appends are ignored. The parameters of an answer have no fixed length.
    if code > 2 {
      #expect(ManagementEvent(ManagementFrame(code: code, index: 0, parameters + [1])) == wanted)
    }
  }

  @Test(arguments: events)
  func everyShorterLengthIsMalformed(
    _ code: UInt16, _ parameters: [UInt8], _ wanted: ManagementEvent
  ) {
    let needed = code <= 2 ? 3 : parameters.count
    for length in 0..<needed {
      let event = ManagementEvent(
        ManagementFrame(code: code, index: 0, Array(parameters.prefix(length))))
      #expect(event == .malformed(code: code, length: length))
    }
  }

  @Test func keysOfEveryKind() {
    let value = [UInt8](0x10...0x1F)
    let longTerm =
      [1] + Self.peerOctets + [2, 1, 16, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1] + value
    guard
      case .newKey(.longTerm(let key), isToStore: true) = ManagementEvent(
        ManagementFrame(code: 0x0A, index: 0, longTerm))
    else { return #expect(Bool(false), "no long term key") }
    #expect(key.peer == Self.peer && key.kind == 2 && key.isCentral && key.keySize == 16)
    #expect(key.diversifier == 0x1234 && key.random == 0x0102_0304_0506_0708)
    #expect(key.value == value)
    // The key is loaded as it was received.
    #expect(key.octets == Array(longTerm.dropFirst()))
    #expect(key.octets.count == 36)

    let identity = [0] + [UInt8](repeating: 9, count: 6) + Self.peerOctets + value
    guard
      case .newKey(.identity(let identityKey), isToStore: false) = ManagementEvent(
        ManagementFrame(code: 0x18, index: 0, identity))
    else { return #expect(Bool(false), "no identity key") }
    #expect(identityKey.octets == Self.peerOctets + value)
    #expect(identityKey.octets.count == 23)

    for (code, octets) in [(UInt16(0x0A), longTerm), (0x18, identity)] {
      for length in octets.indices {
        let event = ManagementEvent(
          ManagementFrame(code: code, index: 0, Array(octets.prefix(length))))
        #expect(event == .malformed(code: code, length: length))
      }
    }
  }

  @Test func peersOfBREDRAreOther() {
    let peer = [UInt8](repeating: 1, count: 6) + [0]
    for code: UInt16 in [0x10, 0x16] {
      #expect(ManagementEvent(ManagementFrame(code: code, index: 0, peer)) == .other(code: code))
    }
  }

  @Test func framesAreExact() {
    let frame = ManagementFrame(code: 0x0005, index: 1, [1])
    let octets: [UInt8] = [5, 0, 1, 0, 1, 0, 1]
    #expect(frame.encoded == octets)
    #expect(ManagementFrame(octets[...]) == frame)
    for length in 0..<octets.count { #expect(ManagementFrame(octets.prefix(length)) == nil) }
    #expect(ManagementFrame((octets + [0])[...]) == nil)
  }

  @Test func informationOfEveryLength() {
    var octets = Array(Self.peerOctets.prefix(6)) + [9, 0xF1, 0x05] + [0xFF, 2, 0, 0]
    octets += [0x11, 2, 0, 0, 1, 2, 3] + Array("Lab".utf8)
    octets += [UInt8](repeating: 0, count: AdapterInformation.length - octets.count)
    let information = AdapterInformation(index: 3, octets)
    #expect(information?.address == Self.peer)
    #expect(information?.versionText == "5.0" && information?.manufacturer == 0x05F1)
    #expect(information?.settings == [.powered, .bondable, .le])
    #expect(information?.name == "Lab" && information?.label == "hci3")
    for length in octets.indices {
      #expect(AdapterInformation(index: 3, Array(octets.prefix(length))) == nil)
    }
  }

  @Test func randomOctets() {
    let seed: UInt64 = 0x0A77_0003
    var generator = SplitMix64(seed: seed)
    for _ in 0..<20_000 {
      var octets = generator.octets(Int.random(in: 0...60, using: &generator))
      if octets.count >= 6, Bool.random(using: &generator) {
        // A frame with a valid header.
        let code = UInt16.random(in: 0...0x30, using: &generator)
        octets.replaceSubrange(0..<2, with: code.octets(2))
        octets.replaceSubrange(4..<6, with: (octets.count - 6).octets(2))
        #expect(ManagementFrame(octets[...]) != nil, "seed \(seed)")
      }
      if let frame = ManagementFrame(octets[...]) {
        _ = ManagementEvent(frame)
        _ = AdapterInformation(index: 0, frame.parameters)
        _ = AdvertisingFeatures(frame.parameters)
        _ = ConnectionInformation(frame.parameters)
        var links = LinkTable()
        links.read(frame.encoded)
        _ = ManagementChannel.numbers(frame.parameters)
      }
    }
  }

  @Test func parametersOfAnInstance() {
    let octets = LegacyAdvertisement(advertisement: [2, 1, 6], scanResponse: [2, 9, 0x41])!
    let instance = KernelAdvertisement(
      instance: 1, parameters: AdvertisingParameters(octets: octets), octets: octets)
    #expect(
      instance.whole == [1, 1, 0, 0, 0, 0, 0, 12, 0, 3, 3, 2, 1, 6, 2, 9, 0x41])
    #expect(
      instance.extendedParameters == [
        1, 0x01, 0x60, 0, 0, 0, 0, 12, 0, 160, 0, 0, 0, 176, 0, 0, 0, 0x7F,
      ])
    #expect(instance.extendedData == [1, 3, 3, 2, 1, 6, 2, 9, 0x41])
  }

  @Test func freeInstances() {
    let features = AdvertisingFeatures([0, 0, 0, 0, 31, 31, 3, 1, 1])
    #expect(features?.free(except: []) == 2)
    #expect(features?.free(except: [2, 3]) == nil)
    #expect(AdvertisingFeatures([0, 0, 0, 0, 31, 31, 0, 0])?.free(except: []) == nil)
    #expect(AdvertisingFeatures([0, 0, 0, 0, 31, 31, 3, 2, 1]) == nil)
  }
}
