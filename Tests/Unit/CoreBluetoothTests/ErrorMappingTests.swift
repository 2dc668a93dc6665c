import Atto
import AttoRadio
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Each failure to open a channel has its code and its advice.
@Suite(.oneByOne) struct ErrorMappingTests {
  private static let peer = BluetoothAddress(0x00AA_0101_0001)

  @Test(arguments: [
    (ChannelRefusal.unknownPSM, CBError.Code.invalidParameters, "published"),
    (.noResources, .outOfSpace, "close a channel"),
    (.unacceptableParameters, .connectionFailed, "MTU"),
    (.invalidSource, .connectionFailed, "source CID"),
    (.sourceInUse, .connectionFailed, "source CID"),
    (.unspecified, .connectionFailed, "CAP_NET_RAW"),
  ])
  func refusals(_ refusal: ChannelRefusal, _ code: CBError.Code, _ advice: String) throws {
    let error = ErrorMapping.channel(.channelRefused(Self.peer, psm: 0x80, refusal))
    let mapped = try #require(error as? CBError)
    #expect(mapped.code == code)
    let text = try #require(mapped.userInfo[NSDebugDescriptionErrorKey] as? String)
    #expect(text.contains(advice) && text.contains("PSM 128"), "\(text)")
  }

  @Test(arguments: [
    (ChannelRefusal.insufficientAuthentication, CBATTError.Code.insufficientAuthentication),
    (.insufficientAuthorization, .insufficientAuthorization),
    (.keyTooShort, .insufficientEncryptionKeySize),
    (.insufficientEncryption, .insufficientEncryption),
  ])
  func refusalsForSecurity(_ refusal: ChannelRefusal, _ code: CBATTError.Code) throws {
    let error = ErrorMapping.channel(.channelRefused(Self.peer, psm: 0x80, refusal))
    let mapped = try #require(error as? CBATTError)
    #expect(mapped.code == code)
    #expect(refusal.isForSecurity)
    let text = try #require(mapped.userInfo[NSDebugDescriptionErrorKey] as? String)
    #expect(["pair", "authorize"].contains { text.contains($0) }, "\(text)")
  }

  @Test(arguments: [
    (ETIMEDOUT, CBError.Code.connectionTimeout), (ECONNRESET, .peripheralDisconnected),
    (EHOSTDOWN, .peripheralDisconnected), (ENETDOWN, .peripheralDisconnected),
    (ENODEV, .peripheralDisconnected), (ENOMEM, .outOfSpace), (EMFILE, .outOfSpace),
    (EADDRINUSE, .outOfSpace), (EAFNOSUPPORT, .operationNotSupported),
    (EINVAL, .invalidParameters), (EIO, .connectionFailed),
  ])
  func errnos(_ errno: Int32, _ code: CBError.Code) throws {
    let error = ErrorMapping.channel(
      .link(LinkError(.connect, .system(errno), endpoint: "channel 128 of le:00:AA:01:01:00:01")))
    #expect((error as? CBError)?.code == code)
    #expect((error as? CBError)?.userInfo[NSDebugDescriptionErrorKey] is String)
  }

  @Test func pairingForAChannel() {
    func code(_ failure: PairingFailure) -> Int? {
      let error = ErrorMapping.channel(.pairing(Self.peer, failure))
      return (error as? CBError)?.errorCode ?? (error as? CBATTError).map { 100 + $0.errorCode }
    }
    #expect(code(.keyMissing) == CBError.peerRemovedPairingInformation.rawValue)
    #expect(code(.timeout) == CBError.encryptionTimedOut.rawValue)
    #expect(
      code(.disagreement(.refused)) == 100 + CBATTError.insufficientEncryption.rawValue)
  }
}
