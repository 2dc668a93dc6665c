import Foundation

// The classes as arguments of `%@`, in `String(format:)` and `NSLog`: all objects are on Apple's systems.

extension CBAttribute: _CVarArgObject {
  public var _cVarArgObject: any CVarArg { description as NSString }
  public var _cVarArgEncoding: [Int] { (description as NSString)._cVarArgEncoding }
}

extension CBPeer: _CVarArgObject {
  public var _cVarArgObject: any CVarArg { description as NSString }
  public var _cVarArgEncoding: [Int] { (description as NSString)._cVarArgEncoding }
}

extension CBManager: _CVarArgObject {
  public var _cVarArgObject: any CVarArg { description as NSString }
  public var _cVarArgEncoding: [Int] { (description as NSString)._cVarArgEncoding }
}

extension CBUUID: _CVarArgObject {
  public var _cVarArgObject: any CVarArg { description as NSString }
  public var _cVarArgEncoding: [Int] { (description as NSString)._cVarArgEncoding }
}
