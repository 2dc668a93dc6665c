import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Errors as apps print, compare and cast them.
@Suite(.oneByOne) struct ErrorTests {
  @Test func texts() {
    let long: any Error = CBATTError(.invalidAttributeValueLength)
    let text = "Error Domain=CBATTErrorDomain Code=13 \"The value's length is invalid.\""
    #expect("\(long)" == text)
    #expect(String(reflecting: long) == text)
    #expect("\(Optional(long) as Any)" == "Optional(\(text))")
    #expect(long.localizedDescription == "The value's length is invalid.")
    let gone = CBError(.peripheralDisconnected)
    #expect(
      "\(gone)"
        == "Error Domain=CBErrorDomain Code=7 \"The specified device has disconnected from us.\"")
    let reason = CBError(.unknown, userInfo: [NSDebugDescriptionErrorKey: "why"])
    #expect(
      "\(reason)"
        == "Error Domain=CBErrorDomain Code=0 \"Unknown error.\" UserInfo={NSDebugDescription=why}")
  }

  @Test func castsFromNSError() throws {
    let gone = NSError(
      domain: CBErrorDomain, code: 7, userInfo: [NSLocalizedDescriptionKey: "It has gone."])
    let error = try #require(gone as? CBError)
    #expect(error.code == .peripheralDisconnected)
    #expect(error.localizedDescription == "It has gone.")
    #expect((gone as any Error) as? CBError == error)
    #expect(gone as? CBATTError == nil)
    #expect(NSError(domain: "other", code: 7) as? CBError == nil)
    let refused = NSError(domain: CBATTErrorDomain, code: 2)
    #expect((refused as any Error as? CBATTError)?.code == .readNotPermitted)
    do {
      throw gone
    } catch CBError.peripheralDisconnected {
    } catch {
      Issue.record("not caught: \(error)")
    }
  }

  @Test func castsToNSError() {
    let error: any Error = CBATTError(
      .insufficientEncryption, userInfo: [NSDebugDescriptionErrorKey: "why"])
    let bridged = error as NSError
    #expect(bridged.domain == CBATTErrorDomain)
    #expect(bridged.code == 15)
    #expect(bridged.localizedDescription == "Encryption is insufficient.")
    #expect(bridged.userInfo[NSDebugDescriptionErrorKey] as? String == "why")
    #expect(bridged as? CBATTError == CBATTError(.insufficientEncryption))
  }

  /// Any number is a code, as for an enumeration of C.
  @Test func codesWithoutNames() throws {
    let code = try #require(CBError.Code(rawValue: 99))
    #expect(code.rawValue == 99)
    #expect(CBError(code).errorCode == 99)
    #expect(CBError.Code(rawValue: -1)?.rawValue == -1)
    #expect((NSError(domain: CBErrorDomain, code: 99) as? CBError)?.code == code)
    for number in 0...18 {
      #expect(CBError.Code(rawValue: number)?.rawValue == number)
      #expect(CBATTError.Code(rawValue: number)?.rawValue == number)
    }
    #expect(CBATTError.Code(rawValue: 1000)?.rawValue == 1000)
    #expect(CBATTError.Code(rawValue: .min)?.rawValue == .min)
    #expect("\(CBError(code))" == "Error Domain=CBErrorDomain Code=99 \"Unknown error.\"")
  }

  @Test func uuidsHaveNames() {
    #expect(CBUUID(string: "180D").description == "Heart Rate")
    #expect(CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB").description == "Heart Rate")
    #expect(CBUUID(string: "2A29").description == "Manufacturer Name String")
    #expect(CBUUID(string: "2902").description == "Client Characteristic Configuration")
    #expect(CBUUID(string: "FFF0").description == "FFF0")
    #expect(CBUUID(string: "180D").uuidString == "180D")
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    #expect("\(service)".contains("UUID = Heart Rate"))
  }
}
